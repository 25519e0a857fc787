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
  const given = typeof vector === "string" ? numbersIn(vector) : vector;
  const isVector =
    given instanceof Float32Array ? given.length === dimensions && given.every(Number.isFinite) : given === null;
  if (typeof messageId !== "string" || typeof text !== "string" || !(isVector || given === undefined)) throw noVector();
  return { messageId, text, vector: given as Float32Array | null | undefined };
}

function numbersIn(base64: string): Float32Array {
  try {
    return new Float32Array(fromBase64(base64).buffer);
  } catch {
    throw noVector();
  }
}

const noVector = () => new StemmaError("UNKNOWN_FORMAT", {}, "A line is not the vector of a message.");
