import { inPieces, isJsonObject, mapped } from "@stemma/model";
import type { UIMessage } from "ai";

const ROLES: readonly unknown[] = ["system", "user", "assistant"];

/** The message as the AI SDK takes it, without the parts that it does not know; null when nothing is left of it. */
export function validMessage(message: unknown): UIMessage | null {
  if (!isJsonObject(message) || typeof message.id !== "string" || !ROLES.includes(message.role)) return null;
  if (!Array.isArray(message.parts)) return null;
  const parts = message.parts.filter(isPart);
  const isWhole = parts.length === message.parts.length;
  // An answer may be empty.
  if (parts.length === 0 && !(isWhole && message.role === "assistant")) return null;
  return (isWhole ? message : { ...message, parts }) as unknown as UIMessage;
}

/** The messages that a model can be shown: of a broken one the parts that are whole, or nothing. Lets the event loop turn meanwhile. */
export async function validMessages(messages: readonly unknown[]): Promise<UIMessage[]> {
  const read = await inPieces(mapped(messages, validMessage));
  return read.filter((message) => message !== null);
}

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string";
const flag: Check = (value) => typeof value === "boolean";
const absent: Check = (value) => value === undefined;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const oneOf =
  (...values: unknown[]): Check =>
  (value) =>
    values.includes(value);
const recordOf =
  (check: Check): Check =>
  (value) =>
    isJsonObject(value) && Object.values(value).every(check);

/** An object whose fields are as named; it may have others. */
function fields(named: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(named);
  return (value) => isJsonObject(value) && checks.every(([name, check]) => check(value[name]));
}

const metadata = optional(recordOf(optional(isJsonObject)));
const written = { text, state: optional(oneOf("streaming", "done")), providerMetadata: metadata };
const file = { mediaType: text, url: text, providerMetadata: metadata };
const source = { sourceId: text, providerMetadata: metadata };

const PARTS: Readonly<Record<string, Check>> = {
  text: fields(written),
  reasoning: fields({ ...written, id: optional(text) }),
  "source-url": fields({ ...source, url: text, title: optional(text) }),
  "source-document": fields({ ...source, mediaType: text, title: text, filename: optional(text) }),
  file: fields({ ...file, filename: optional(text), providerReference: optional(recordOf(text)) }),
  "step-start": () => true,
  // Version 7 has these as well; version 6 shows them to no model.
  "reasoning-file": fields(file),
  custom: fields({ kind: text, providerMetadata: metadata }),
  "steering-message": fields({ id: text, parts: (value) => Array.isArray(value) && value.every(steering) }),
};

function steering(value: unknown): boolean {
  return isJsonObject(value) && (value.type === "text" || value.type === "file") && isPart(value);
}

const request = {
  id: text,
  requestReason: optional(text),
  isAutomatic: optional(flag),
  signature: optional(text),
};
const decision = (approved: Check): Check => fields({ ...request, approved, reason: optional(text) });
const granted = optional(decision(oneOf(true)));

const call = {
  toolCallId: text,
  title: optional(text),
  toolMetadata: optional(isJsonObject),
  providerExecuted: optional(flag),
  callProviderMetadata: metadata,
  output: absent,
  errorText: absent,
  approval: absent,
};
const unread = { rawInput: optional(text), inputEncoding: optional(oneOf("json", "text")) };
const result = { resultProviderMetadata: metadata, approval: granted };

const STATES: Readonly<Record<string, Check>> = {
  "input-streaming": fields({ ...call, ...unread }),
  "input-available": fields(call),
  "approval-requested": fields({ ...call, approval: fields({ ...request, approved: absent, reason: absent }) }),
  "approval-responded": fields({ ...call, approval: decision(flag) }),
  "output-available": fields({ ...call, ...result, output: () => true, preliminary: optional(flag) }),
  "output-error": fields({ ...call, ...result, errorText: text }),
  "output-denied": fields({ ...call, approval: decision(oneOf(false)) }),
};

const [parts, states] = [new Map(Object.entries(PARTS)), new Map(Object.entries(STATES))];
const dynamicTool = fields({ dynamic: optional(oneOf(false)), toolName: text });
const data = fields({ id: optional(text) });

/**
 * True for a part that the AI SDK takes in a message. Its own `validateUIMessages` says the same, and would hold up a server:
 * it compares each part with all shapes, and writes down where a wrong one differs from each.
 */
function isPart(value: unknown): boolean {
  if (!isJsonObject(value) || typeof value.type !== "string") return false;
  const { type, state } = value;
  if (type.startsWith("data-")) return data(value);
  const isDynamic = type === "dynamic-tool" && dynamicTool(value);
  if (isDynamic || type.startsWith("tool-")) return states.get(`${state}`)?.(value) ?? false;
  return parts.get(type)?.(value) ?? false;
}
