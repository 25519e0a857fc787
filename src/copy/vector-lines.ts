import { StemmaError } from "../errors.js";
import { VERSION } from "../formats/store-lines.js";
import { fromBase64, toBase64 } from "../model/base64.js";
import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { KeptVector, VectorModel } from "../storage/contract.js";

/** The first line of a session's vectors. */
export const vectorHeader = (session: string, { id, dimensions }: VectorModel): JsonObject => ({
  stemma: VERSION,
  vectors: { session, embedder: id, dimensions },
});

/** The model that it names. Errors: `UNKNOWN_FORMAT`. */
export function modelOf({ vectors }: JsonObject): VectorModel {
  const { embedder: id, dimensions } = isJsonObject(vectors) ? vectors : {};
  if (typeof id === "string" && id !== "" && Number.isSafeInteger(dimensions) && Number(dimensions) > 0)
    return { id, dimensions: Number(dimensions) };
  throw new StemmaError("UNKNOWN_FORMAT", {}, "The header of a session's vectors names no embedder.");
}

/** A message's vector as base64 of 32-bit floats, the lowest byte first; without `vector` where the message waits for it. */
export function vectorLine({ messageId, text, vector }: KeptVector): JsonObject {
  if (vector === undefined) return { messageId, text };
  const { buffer, byteOffset, byteLength } = vector ?? {};
  return { messageId, text, vector: buffer ? toBase64(new Uint8Array(buffer, byteOffset, byteLength)) : null };
}

/** True for the line of a message that waits for its vector. */
export const isWaitingLine = (line: JsonObject): boolean => "messageId" in line && !("vector" in line);

/** Errors: `UNKNOWN_FORMAT`. */
export function readVectorLine({ messageId, text, vector }: JsonObject, dimensions: number): KeptVector {
  const bytes = typeof vector === "string" ? fromBase64(vector) : vector;
  const isVector = bytes instanceof Uint8Array ? bytes.length === 4 * dimensions : bytes === null;
  if (typeof messageId !== "string" || typeof text !== "string" || !(isVector || bytes === undefined))
    throw new StemmaError("UNKNOWN_FORMAT", {}, "A line is no vector of a message.");
  return { messageId, text, vector: bytes instanceof Uint8Array ? new Float32Array(bytes.buffer) : (bytes as null) };
}
