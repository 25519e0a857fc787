import type { Pieces } from "../../event-loop.js";
import type { SessionMessage } from "../../model/message.js";
import { isSettled, isToolPart, type ToolCallPart } from "../../model/tool-calls.js";
import { readToolPart } from "../../model/tool-parts.js";
import type { Slot } from "./draft.js";
import type { Report } from "./findings.js";

/** A result in a part of its own, as other formats have it. */
export interface LooseResult {
  readonly output: unknown;
  readonly errorText: string | null;
}

/** Results by the call's id. One that is told with its call is taken out. */
interface Looseness {
  readonly results: Map<string, LooseResult>;
  readonly report: Report;
}

/** A part that only calls, or only answers, as the AI SDK's part that does both. */
function callPart(id: string, toolName: string, given: unknown, result: LooseResult | null): ToolCallPart {
  const call = { type: "dynamic-tool", toolName, toolCallId: id, input: given ?? {} };
  if (result === null) return { ...call, state: "input-available" };
  if (result.errorText !== null) return { ...call, state: "output-error", errorText: result.errorText };
  return { ...call, state: "output-available", output: result.output };
}

/** Results that stand in parts of their own, in whatever message. */
export function* looseResults(messages: readonly SessionMessage[]): Pieces<Map<string, LooseResult>> {
  const results = new Map<string, LooseResult>();
  const settled = new Set<string>();
  for (const { parts } of messages) {
    for (const part of parts) {
      const tool = readToolPart(part);
      if (tool === null || tool.toolCallId === null) continue;
      if (isToolPart(part)) {
        if (isSettled(part)) settled.add(tool.toolCallId);
      } else if (tool.kind !== "call") {
        results.set(tool.toolCallId, { output: tool.output, errorText: tool.errorText });
      }
    }
    yield;
  }
  for (const toolCallId of settled) results.delete(toolCallId);
  return results;
}

/** True for a call whose result stands in a part of its own. Where an approval was answered, the AI SDK will make the result. */
export function takesLooseResult(part: ToolCallPart, { results }: Looseness): boolean {
  return !isSettled(part) && part.state !== "approval-responded" && results.has(part.toolCallId);
}

/** The call of a part that only calls, or only answers, with its result; null, and reported, for what is left out. */
export function pairedCall(slot: Slot, { results, report }: Looseness): ToolCallPart | null {
  const { part } = slot;
  const tool = readToolPart(part);
  const id = tool?.toolCallId ?? null;
  if (tool === null || id === null) {
    report("unreadable-part", slot, `A part of the type "${part.type}" that is no call of the AI SDK. It is left out.`);
    return null;
  }
  const name = tool.toolName ?? "tool";
  const result = results.get(id) ?? null;
  results.delete(id);
  if (tool.kind !== "result") {
    report(
      "orphaned-call",
      slot,
      `The call of "${name}" stands apart from its result. It becomes a part that holds both.`,
    );
    return callPart(id, name, tool.input, result);
  }
  // Its call came before, and told it.
  if (result === null) {
    report("orphaned-result", slot, `The result of "${name}" stands apart from its call. It is told with the call.`);
    return null;
  }
  report("orphaned-result", slot, `The result of "${name}" has no call. It becomes a part that holds both.`);
  return callPart(id, name, {}, result);
}
