import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import { readToolPart, type ToolPart } from "../model/tool-parts.js";

const DENIED = "This call was denied. It did not run.";

export type ToolResult = Pick<ToolPart, "output" | "errorText">;

/** A call, and its result; null where it has none. */
export interface ToolPair {
  readonly call: ToolPart;
  readonly result: ToolResult | null;
}

/** Results that stand apart from their calls, by the id of the call. Whoever tells one with its call takes it out. */
export type LooseResults = Map<string, ToolResult>;

/** The results among the messages that stand in parts of their own. */
export function looseResults(messages: readonly SessionMessage[]): LooseResults {
  const loose: LooseResults = new Map();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    const tool = readToolPart(part);
    if (tool?.kind === "result" && tool.toolCallId !== null) loose.set(tool.toolCallId, tool);
  }
  return loose;
}

/** The calls among the parts, each with its result. A result without a call is told as a call as well. */
export function pairsOf(parts: readonly SessionMessagePart[], loose: LooseResults): ToolPair[] {
  return parts.flatMap((part) => {
    const call = readToolPart(part);
    if (call === null || call.toolCallId === null) return [];
    const apart = loose.get(call.toolCallId) ?? null;
    loose.delete(call.toolCallId);
    if (call.state === "output-denied") return [{ call, result: { output: undefined, errorText: DENIED } }];
    if (call.kind === "both") return [{ call, result: call }];
    // The result of a call that came before was told with it.
    return call.kind === "result" && apart === null ? [] : [{ call, result: apart }];
  });
}
