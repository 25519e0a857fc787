import { givenMessage, isJsonObject, isTooDeep, kindOf, StemmaError } from "@stemma/model";
import type { RedactFunction, Redaction, RedactWhere } from "../contract/store.js";
import { type IsIdentifier, type RedactText, redactEncoded, redactJson } from "./inner-texts.js";

/** Applies a user's function to the texts of a store, and `inner` to the result, where the store has a redaction already. */
export function redactionOf(redact: RedactFunction, inner?: Redaction): Redaction {
  const text: RedactText = (given, where) => {
    const redacted = redactEncoded(given, (one) => checked(redact, one, where));
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

/** Fields of a message that name something. */
const MESSAGE: ReadonlySet<string | number | undefined> = new Set(["id", "role"]);
const PART: ReadonlySet<string | number | undefined> = new Set(["type", "id", "toolName", "toolCallId", "sourceId"]);
/** Fields that have a form: any other string in them is a text. */
const MESSAGE_FORMS: ReadonlyMap<string | number | undefined, RegExp> = new Map([["createdAt", /^[-+\dT:.Z ]*$/]]);
const PART_FORMS: ReadonlyMap<string | number | undefined, RegExp> = new Map([
  ["state", /^[a-z-]*$/],
  ["mediaType", /^[\w.+-]*\/[\w.+*-]*$/],
]);

const isIdentifier: IsIdentifier = (path, text) => {
  const [field, , name, below] = path;
  if (path.length === 1) return MESSAGE.has(field) || MESSAGE_FORMS.get(field)?.test(text) === true;
  if (field !== "parts") return false;
  if (path.length === 3) return PART.has(name) || PART_FORMS.get(name)?.test(text) === true;
  return path.length === 4 && name === "approval" && below === "id";
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
