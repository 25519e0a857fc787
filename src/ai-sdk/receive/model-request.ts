import { convertToModelMessages, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import type { SessionMessage } from "../../model/message.js";
import type { Session } from "../../session/session.js";
import type { SessionTools } from "../../tools/tool.js";
import { repair } from "../lint/lint.js";
import type { ProviderName } from "../lint/provider-rules.js";
import { validMessages } from "../message/validate.js";

/** What a model is to be asked with. */
export interface ModelRequest {
  /** The system prompt; undefined when the session has no blocks. */
  readonly system: string | undefined;
  readonly messages: ModelMessage[];
  /** The session's tools, and those that were given. */
  readonly tools: ToolSet;
}

export interface ModelRequestOptions {
  readonly tools: ToolSet;
  readonly cacheTtl: number | undefined;
  /** Undefined has the rules of OpenAI-compatible servers, which are the strictest. */
  readonly model: ProviderName | undefined;
}

/** The request for the active leaf; `base` stands in the place of its last message, which it goes on from. */
export async function modelRequest(
  session: Session,
  base: UIMessage | null,
  { tools: own, cacheTtl, model = "openai-compatible" }: ModelRequestOptions,
): Promise<ModelRequest> {
  const { system, messages, tools } = await session.prepareTurn<UIMessage>({ cacheTtl });
  const shown = base === null ? messages : [...messages.slice(0, -1), base];
  const all: ToolSet = { ...(tools as SessionTools), ...own };
  const mend = (given: UIMessage[]) => repair(given as SessionMessage[], model, { tools: all }) as UIMessage[];
  // First what other formats left becomes parts of the AI SDK; then nothing lacks what was no part.
  const accepted = mend(await validMessages(mend(shown)));
  return {
    system: system === "" ? undefined : system,
    messages: await convertToModelMessages(accepted, { tools: all }),
    tools: all,
  };
}
