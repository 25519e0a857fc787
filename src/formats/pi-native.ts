import type { JsonObject } from "../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import { readToolPart } from "../model/tool-parts.js";
import { contentOfOutput, contentOfParts } from "./pi-content.js";

import { splitSteps } from "./steps.js";

const NO_USAGE = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/**
 * The entries of a message that did not come from pi: itself, step by step, each with the results of its tools behind it.
 * `createdAt` is its time where it has none of its own.
 */
export function entriesOfMessage(message: SessionMessage, parentId: string | null, createdAt?: string): JsonObject[] {
  const date = new Date(message.createdAt ?? createdAt ?? 0);
  const timestamp = (Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString();
  const entries: JsonObject[] = [];
  const add = (entry: JsonObject): void => {
    const id = entries.length === 0 ? message.id : `${message.id}-${entries.length}`;
    const above = entries.length === 0 ? parentId : entries.at(-1)?.id;
    entries.push({ ...entry, id, parentId: above, timestamp });
  };
  const addMessage = (fields: JsonObject): void =>
    add({ type: "message", message: { ...fields, timestamp: Date.parse(timestamp) } });
  // Results that stand apart from their calls.
  const apart = message.parts.filter((part) => readToolPart(part)?.kind === "result");
  for (const part of apart) addMessage(resultOf(part));
  if (apart.length > 0 && apart.length === message.parts.length) return entries;
  if (message.role === "assistant") {
    const steps = splitSteps(message.parts, (part) => contentOfParts([part]).length > 0);
    for (const step of steps.length === 0 ? [[]] : steps) {
      addMessage(reply(step));
      for (const part of step) if (readToolPart(part)?.kind === "both") addMessage(resultOf(part));
    }
  } else if (message.role === "user") {
    addMessage({ role: "user", content: contentOfParts(message.parts) });
  } else {
    // pi has no other roles: what an extension says is the nearest.
    add({ type: "custom_message", customType: message.role, content: contentOfParts(message.parts), display: true });
  }
  return entries;
}

function reply(parts: readonly SessionMessagePart[]): JsonObject {
  return {
    role: "assistant",
    content: contentOfParts(parts),
    api: "unknown",
    provider: "unknown",
    model: "unknown",
    usage: NO_USAGE,
    stopReason: parts.some((part) => readToolPart(part) !== null) ? "toolUse" : "stop",
  };
}

function resultOf(part: SessionMessagePart): JsonObject {
  const tool = readToolPart(part);
  return {
    role: "toolResult",
    toolCallId: tool?.toolCallId,
    toolName: tool?.toolName,
    content: contentOfOutput(part),
    isError: tool?.errorText != null,
  };
}
