import { StemmaError } from "../errors.js";
import { decodeJson, encodeJson } from "../lib/json.js";

/** One record: a header, and byte strings behind it. */
export interface Frames<Header> {
  readonly header: Header;
  readonly frames: readonly Uint8Array[];
}

const LENGTH_BYTES = 4;

/** A header that JSON can write, and byte strings, as one record. */
export function packFrames(header: unknown, frames: readonly Uint8Array[]): Uint8Array {
  const head = encodeJson([header, frames.map(({ length }) => length)]);
  const packed = new Uint8Array(frames.reduce((sum, { length }) => sum + length, LENGTH_BYTES + head.length));
  new DataView(packed.buffer).setUint32(0, head.length);
  let end = LENGTH_BYTES;
  for (const piece of [head, ...frames]) {
    packed.set(piece, end);
    end += piece.length;
  }
  return packed;
}

/** Reads what `packFrames` wrote. Errors: `CORRUPT_STATE`. */
export function unpackFrames<Header>(packed: Uint8Array, key: string): Frames<Header> {
  try {
    const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    let end = LENGTH_BYTES + view.getUint32(0);
    const [header, lengths] = decodeJson(packed.subarray(LENGTH_BYTES, end)) as [Header, number[]];
    const frames = lengths.map((length) => {
      end += length;
      return packed.subarray(end - length, end);
    });
    if (end !== packed.length) throw new RangeError(`${end} bytes were expected, and ${packed.length} are there`);
    return { header, frames };
  } catch (cause) {
    const message = `The record "${key}" of a checkpoint cannot be read: it was changed or cut off.`;
    throw new StemmaError("CORRUPT_STATE", { key }, message, { cause });
  }
}
