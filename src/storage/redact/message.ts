import { givenMessage } from "../../model/given-message.js";
import { isJsonObject, isTooDeep } from "../../model/json-object.js";
import { type IsIdentifier, type RedactText, redactJson } from "./json.js";

/** Fields of a message that name something. */
const MESSAGE: ReadonlySet<string | number | undefined> = new Set(["id", "role", "createdAt"]);
/** The same of a part. */
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
export function redactMessage<M extends object>(given: M, sessionId: string, text: RedactText): M {
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
