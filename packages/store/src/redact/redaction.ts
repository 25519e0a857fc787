import { fromBase64, givenMessage, isJsonObject, isTooDeep, kindOf, StemmaError, toBase64 } from "@stemma/model";
import type { RedactFunction, Redaction, RedactWhere } from "../contract/store.js";
import { type IsIdentifier, type RedactText, redactJson } from "./json.js";
/** Applies a user's function to the texts of a store, and `inner` to the result, where the store has a redaction already. */
export function redactionOf(redact: RedactFunction, inner?: Redaction): Redaction {
  const text: RedactText = (given, where) => {
    const redacted = redactDataUrl(given, (one) => checked(redact, one, where));
    return inner === undefined ? redacted : inner.text(redacted, where);
  };
  return {
    text,
    json: (value, where) => redactJson(value, where, text),
    message: (message, sessionId) => redactMessage(message, sessionId, text),
  };
}

function checked(redact: RedactFunction, text: string, where: RedactWhere): string {
  if (text === "") return text;
  let redacted: unknown;
  try {
    redacted = redact(text, { where });
  } catch (cause) {
    throw failed(where, "it threw, see the cause", { cause });
  }
  if (typeof redacted === "string") return redacted;
  // The function is not awaited, so nobody hears of what such a promise fails with.
  if (redacted instanceof Promise) redacted.catch(() => {});
  throw failed(where, `it gave ${redacted instanceof Promise ? "a promise" : kindOf(redacted)}, not a text`);
}

// Nothing of the text, because an error may be logged.
function failed(where: RedactWhere, why: string, options?: { cause: unknown }): StemmaError {
  const { kind, sessionId, label } = where;
  const message = `redact failed on a text of kind "${kind}": ${why}. Nothing was stored. Mend the function, then call again.`;
  return new StemmaError("REDACTION_FAILED", { kind, sessionId, label }, message, options);
}

const HEAD = /^data:(?<type>[\w.+-]+\/[\w.+-]+)?(?:;[\w-]+=[^;,\s]*)*(?<base64>;base64)?,/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const TEXTS = /^(?:text\/|application\/(?:json|xml|javascript|yaml|toml|sql|rtf|x-[\w-]*)|.*\+(?:json|xml)$)/i;

/**
 * Redacts a text; of a `data:` URL the text that is encoded in it. One of bytes, as an image, is no text, and stays as it is.
 */
export function redactDataUrl(text: string, redact: (text: string) => string): string {
  const head = text.startsWith("data:") ? HEAD.exec(text) : null;
  if (head === null) return redact(text);
  const [start] = head;
  const { type = "text/plain", base64 } = head.groups ?? {};
  const data = text.slice(start.length);
  if (base64 === undefined) {
    const plain = decoded(() => decodeURIComponent(data));
    if (plain === null || plain === data) return redact(text);
    const redacted = redact(plain);
    return redacted === plain ? text : start + encodeURIComponent(redacted);
  }
  if (!BASE64.test(data)) return redact(text);
  if (!TEXTS.test(type)) return text;
  const plain = decoded(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fromBase64(data)));
  if (plain === null) return text;
  const redacted = redact(plain);
  return redacted === plain ? text : start + toBase64(new TextEncoder().encode(redacted));
}

function decoded(decode: () => string): string | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

/** Fields of a message that name something. */
const MESSAGE: ReadonlySet<string | number | undefined> = new Set(["id", "role", "createdAt"]);
const PART: ReadonlySet<string | number | undefined> = new Set([
  "type",
  "id",
  "toolName",
  "toolCallId",
  "state",
  "mediaType",
  "sourceId",
]);

const isIdentifier: IsIdentifier = (path) => {
  const [field, , name, below] = path;
  if (path.length === 1) return MESSAGE.has(field);
  if (field !== "parts") return false;
  return path.length === 3 ? PART.has(name) : path.length === 4 && name === "approval" && below === "id";
};

/**
 * A message as it would be stored. What is no message stays as it is, for the store to refuse. Errors: those of a message,
 * `REDACTION_FAILED`.
 */
function redactMessage<M extends object>(given: M, sessionId: string, text: RedactText): M {
  // Read once, so that what is redacted is what is stored.
  const message = givenMessage(given);
  const { role, parts } = message;
  if (!Array.isArray(parts) || isTooDeep(message)) return message as unknown as M;
  const redacted = redactJson(message, { kind: "message", sessionId, role }, ofPart(parts, text), isIdentifier);
  return redacted as unknown as M;
}

// Tells of a string in a part its type.
function ofPart(parts: readonly unknown[], text: RedactText): RedactText {
  return (one, where) => {
    const [field, index] = where.path ?? [];
    const part = field === "parts" ? parts[index as number] : undefined;
    const { type } = (isJsonObject(part) ? part : {}) as { type?: unknown };
    return text(one, typeof type === "string" ? { ...where, partType: type } : where);
  };
}
