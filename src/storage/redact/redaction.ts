import { kindOf, StemmaError } from "../../errors.js";
import type { RedactFunction, Redaction, RedactWhere } from "../contract.js";
import { redactDataUrl } from "./data-url.js";
import { type RedactText, redactJson } from "./json.js";
import { redactMessage } from "./message.js";

/** What a user's function makes of the texts of a store, and `inner` of that, where the store has a redaction already. */
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
