import { convertToModelMessages, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import type { Session } from "../../session/session.js";
import type { SessionTools } from "../../tools/tool.js";
import { settled } from "../message/parts.js";
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
}

/** The request for the active leaf; `base` stands in the place of its last message, which it goes on from. */
export async function modelRequest(
  session: Session,
  base: UIMessage | null,
  { tools: own, cacheTtl }: ModelRequestOptions,
): Promise<ModelRequest> {
  const { system, messages, tools } = await session.prepareTurn<UIMessage>({ cacheTtl });
  const shown = base === null ? messages : [...messages.slice(0, -1), base];
  const all: ToolSet = { ...(tools as SessionTools), ...own };
  const mended = mend(await validMessages(shown));
  return {
    system: system === "" ? undefined : system,
    messages: await convertToModelMessages(mended, { tools: all, ignoreIncompleteToolCalls: true }),
    tools: all,
  };
}

// What providers refuse is mended here, before each request. Of the last message calls may still be answered.
function mend(messages: readonly UIMessage[]): UIMessage[] {
  return messages.map((message, index) => (index < messages.length - 1 ? settled(message) : message));
}
