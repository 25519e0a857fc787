import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StemmaError } from "../../errors.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import type { Store } from "../../storage/contract.js";
import { redactLangChain } from "../../storage/redact/langchain.js";

/**
 * A value as the store will hold it, so that it compares with what is read. Bytes are no text. `isCheckpoint`: it is a checkpoint,
 * or its metadata. Errors: `REDACTION_FAILED`, also where a serializer of the user's does not write JSON.
 */
export async function redactedValue<T>(
  { redaction }: Store,
  serde: SerializerProtocol,
  sessionId: string,
  value: T,
  isCheckpoint = false,
): Promise<T> {
  if (redaction === undefined) return value;
  const [type, bytes] = await serde.dumpsTyped(value);
  if (type === "bytes") return value;
  if (type !== "json") throw unreadable(type);
  const json = decodeJson(bytes);
  const redacted = redactLangChain(
    json,
    { kind: "record", sessionId, label: "langgraph" },
    redaction.text,
    isCheckpoint,
  );
  return redacted === json ? value : await serde.loadsTyped(type, encodeJson(redacted));
}

function unreadable(type: string): StemmaError {
  const message = `The serializer wrote a value as "${type}", in which no text can be redacted, so nothing was stored. On a store with redact it must write JSON.`;
  return new StemmaError("REDACTION_FAILED", { type }, message);
}
