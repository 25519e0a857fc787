import { packFrames, unpackFrames } from "./frames.js";

/** A value as the serializer writes it: what it is, and its bytes. */
export type Typed = readonly [type: string, bytes: Uint8Array];

/** A run of a list's elements that stands in one record: the record's key in its namespace, and how many they are. */
export type Segment = readonly [key: string, count: number];

/** So many segments of one size become one of the next size, so a list of n elements has O(log n) segments. */
const MERGED = 8;

/** Characters of a segment's key that say what is in it: 144 bits of a SHA-256. */
const DIGEST = 24;

/** How a list is written: the segments that stay, and the element with which the new one begins. */
export interface SegmentPlan {
  readonly kept: readonly Segment[];
  readonly from: number;
}

/** The segments that the elements begin with. */
export async function matchSegments(elements: readonly Typed[], segments: readonly Segment[]): Promise<Segment[]> {
  const matched: Segment[] = [];
  let from = 0;
  for (const segment of segments) {
    const [key, count] = segment;
    if (from + count > elements.length) break;
    if ((await digestOf(packElements(elements.slice(from, from + count)))) !== key.slice(0, DIGEST)) break;
    matched.push(segment);
    from += count;
  }
  return matched;
}

/** Lets the new elements take up the small segments before them, where those are many. */
export function planSegments(matched: readonly Segment[], length: number): SegmentPlan {
  let kept = matched.length;
  let from = countOf(matched);
  while (from < length) {
    const level = levelOf(length - from);
    let first = kept;
    while (first > 0 && levelOf((matched[first - 1] as Segment)[1]) <= level) first -= 1;
    if (kept - first < MERGED - 1) break;
    from -= countOf(matched.slice(first, kept));
    kept = first;
  }
  return { kept: matched.slice(0, kept), from };
}

/** The record of a run of elements, and its key, which no other record has. */
export async function newSegment(elements: readonly Typed[]): Promise<{ segment: Segment; value: Uint8Array }> {
  const value = packElements(elements);
  // Not by the digest alone: another process may be removing an older record with the same elements.
  const key = (await digestOf(value)) + crypto.randomUUID().slice(0, 8);
  return { segment: [key, elements.length], value };
}

/** The elements of a segment's record. Errors: `CORRUPT_STATE`. */
export function elementsOf(value: Uint8Array, key: string): Typed[] {
  const { header: types, frames } = unpackFrames<string[]>(value, key);
  return frames.map((bytes, index) => [types[index] ?? (types[0] as string), bytes]);
}

// The types stand once where all are the same, as they nearly always are.
function packElements(elements: readonly Typed[]): Uint8Array {
  const types = elements.map(([type]) => type);
  const header = types.every((type) => type === types[0]) ? types.slice(0, 1) : types;
  return packFrames(
    header,
    elements.map(([, bytes]) => bytes),
  );
}

async function digestOf(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return btoa(String.fromCharCode(...digest.subarray(0, 18)))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** How many elements the segments hold. */
export function countOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, [, count]) => sum + count, 0);
}

function levelOf(count: number): number {
  return Math.floor(Math.log(count) / Math.log(MERGED) + 1e-9);
}
