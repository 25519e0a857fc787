import type { SessionMessage } from "@stemma/model";
import type { PrepareTurnOptions, Session, SessionTool, SessionTools } from "@stemma/session";
import { convertToModelMessages, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import type { ProviderName } from "../lint/known-providers.js";
import { repairInPieces } from "../lint/lint.js";
import { modelMessages } from "../message/model-messages.js";
import { validMessages } from "../message/validate.js";
import { type PrepareStep, stepUpdates } from "../session-memory.js";
import { type RenamedCalls, renamedCalls } from "./submission.js";

/** Settings of `streamText` for the request of a model. */
export interface ModelRequest {
  /** The frozen prompt; missing when the session has no blocks. */
  readonly system?: string;
  readonly messages: ModelMessage[];
  /** The session's tools, and those that were given. */
  readonly tools: ToolSet;
  /** Tells the model before each further step what others changed in the blocks meanwhile. */
  readonly prepareStep: PrepareStep;
  /** Aborted when the answer is stopped. */
  readonly abortSignal: AbortSignal;
}

export interface ModelRequestOptions extends Pick<PrepareTurnOptions, "cacheTtl" | "recall"> {
  readonly tools: ToolSet;
  /** Undefined has the rules of OpenAI-compatible servers, which are the strictest. */
  readonly model: ProviderName | undefined;
  /** Fails once the answer is another process's, or its chat is deleted: then the session's tools run no more. */
  readonly assertHeld: () => Promise<void>;
}

/** The request for the active leaf; `base` stands in the place of its last message, which it goes on from. */
export async function modelRequest(
  session: Session,
  base: UIMessage | null,
  { tools: own, model = "openai-compatible", assertHeld, ...turn }: ModelRequestOptions,
): Promise<Omit<ModelRequest, "abortSignal"> & { readonly renamed: RenamedCalls }> {
  const { system, messages, tools, update } = await session.prepareTurn<UIMessage>({
    ...turn,
    tools: own,
    onCorrupt: "skip",
  });
  const shown = base === null ? messages : [...messages.slice(0, -1), base];
  const all: ToolSet = { ...whileHeld(tools as SessionTools, assertHeld), ...own };
  const mend = (given: UIMessage[]) =>
    repairInPieces(given as SessionMessage[], model, { tools: all }) as Promise<UIMessage[]>;
  // First what other formats left becomes parts of the AI SDK; then nothing lacks what was no part.
  const accepted = await mend(await validMessages(await mend(shown)));
  return {
    ...(system === "" ? {} : { system }),
    messages: await modelMessages(convertToModelMessages, accepted, { tools: all }),
    tools: all,
    prepareStep: stepUpdates(update, model),
    renamed: renamedCalls(base, accepted.at(-1)),
  };
}

// They write what outlives the chat, such as the memory of its user.
function whileHeld(tools: SessionTools, assertHeld: () => Promise<void>): SessionTools {
  const guarded = Object.entries(tools).map(([name, tool]): [string, SessionTool] => {
    const execute: SessionTool["execute"] = async (input, options) => {
      await assertHeld();
      return tool.execute(input, options);
    };
    return [name, { ...tool, execute }];
  });
  return Object.fromEntries(guarded);
}
