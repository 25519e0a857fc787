import * as check from "../lib/checks.js";
import { assertArgument } from "../lib/option-table.js";
import type { SessionMessage, SessionMessagePart } from "../messages/message.js";
import { readToolPart } from "../messages/tool-parts.js";

const MISSING_RESULT = "[This result belongs to an earlier part of the conversation; see its summary.]";

/**
 * A copy of a history in which every tool call has its result, for sending to a model after messages were taken out. A
 * result whose call is not there is left out, and so is a message that held nothing else. A call without a result gets one
 * that says so: in its own part where that holds both (`tool-<name>`, `dynamic-tool`), otherwise in a message after it,
 * whose id is `stub-` and the call's. Parts without a call id stay as they are. Nothing given is changed. Errors: `INVALID_ARGUMENT`.
 */
export function sanitizeToolPairs(messages: readonly SessionMessage[]): SessionMessage[] {
  assertArgument(check.list("messages"), messages, "The history of sanitizeToolPairs()");
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    const tool = readToolPart(part);
    if (tool === null || tool.toolCallId === null) continue;
    if (tool.kind !== "result") calls.add(tool.toolCallId);
    if (tool.kind !== "call") results.add(tool.toolCallId);
  }
  return messages.flatMap((message) => {
    const stubs: SessionMessage[] = [];
    const parts = message.parts.flatMap((part) => {
      const tool = readToolPart(part);
      if (tool === null || tool.toolCallId === null) return [part];
      if (tool.kind === "result") return calls.has(tool.toolCallId) ? [part] : [];
      if (results.has(tool.toolCallId)) return [part];
      if (tool.state !== null || part.type === "dynamic-tool") {
        return [{ ...part, state: "output-available", input: part.input ?? {}, output: MISSING_RESULT }];
      }
      stubs.push(stubFor(part, tool.toolCallId));
      return [part];
    });
    if (parts.length === 0 && message.parts.length > 0) return [];
    const isSame = parts.every((part, index) => part === message.parts[index]) && parts.length === message.parts.length;
    return [isSame ? message : { ...message, parts }, ...stubs];
  });
}

function stubFor(call: SessionMessagePart, toolCallId: string): SessionMessage {
  const id = `stub-${toolCallId}`;
  if (call.type.endsWith("tool_use")) {
    const type = call.type.replace(/use$/, "result");
    return { id, role: "user", parts: [{ type, tool_use_id: toolCallId, content: MISSING_RESULT }] };
  }
  const toolName = call.toolName ?? "unknown";
  return { id, role: "assistant", parts: [{ type: "tool-result", toolCallId, toolName, result: MISSING_RESULT }] };
}
