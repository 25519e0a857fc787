import { packFrames, sha256Bytes, unpackFrames } from "@stemma/model";
/** A value as the serializer writes it: what it is, and its bytes. */
export type Typed = readonly [type: string, bytes: Uint8Array];

/** A run of a list's elements that stands in one record: the record's key in its namespace, and how many they are. */
export type Segment = readonly [key: string, count: number];

/** So many segments of one size become one of the next size, so a list of n elements has O(log n) segments. */
export const MERGED = 8;

/** Characters of a segment's key that say what is in it: 144 bits of a SHA-256. */
export const DIGEST = 24;

/** Of so many bytes a digest is made at once; WebCrypto answers from another thread, which takes longer. */
const FEW_BYTES = 4096;

/** A list in segments, without the first `skip` elements of its first one. */
export interface SegmentedList {
  readonly segments: readonly Segment[];
  readonly skip: number;
}

/** A list that begins with elements of an older one: `count` of them, from number `start` on. */
export interface SharedList extends SegmentedList {
  readonly start: number;
  readonly count: number;
}

/** How a list is written: the segments that stay, and the element with which the new one begins. */
export interface SegmentPlan extends SegmentedList {
  readonly from: number;
}

/** Lets the new elements take up the small segments before them, where those are many. */
export function planSegments({ segments, skip, count }: SharedList, length: number): SegmentPlan {
  let remaining = segments.length;
  let from = count;
  while (from < length) {
    const level = levelOf(length - from);
    let first = remaining;
    while (first > 0 && levelOf((segments[first - 1] as Segment)[1]) <= level) first -= 1;
    if (remaining - first < MERGED - 1) break;
    from = Math.max(0, from - countOf(segments.slice(first, remaining)));
    remaining = first;
  }
  return { segments: segments.slice(0, remaining), skip: remaining === 0 ? 0 : skip, from };
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
export function packElements(elements: readonly Typed[]): Uint8Array {
  const types = elements.map(([type]) => type);
  const header = types.every((type) => type === types[0]) ? types.slice(0, 1) : types;
  return packFrames(
    header,
    elements.map(([, bytes]) => bytes),
  );
}

export async function digestOf(bytes: Uint8Array): Promise<string> {
  const digest =
    bytes.length <= FEW_BYTES
      ? sha256Bytes(bytes)
      : new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return btoa(String.fromCharCode(...digest.subarray(0, 18)))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

export function countOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, [, count]) => sum + count, 0);
}

export function isSame([type, bytes]: Typed, [otherType, other]: Typed): boolean {
  if (type !== otherType || bytes.length !== other.length) return false;
  // `every` would take five times as long.
  for (let index = 0; index < bytes.length; index += 1) if (bytes[index] !== other[index]) return false;
  return true;
}

function levelOf(count: number): number {
  return Math.floor(Math.log(count) / Math.log(MERGED) + 1e-9);
}

/** Reads the record of a value; null when it is gone. */
export type ReadValue = (key: string) => Promise<Uint8Array | null>;

/** The records of values that a list is compared with. */
export interface KnownValues {
  readonly read: ReadValue;
  /** A record that need not be read, because it is at hand; null for any other. */
  atHand(key: string): Uint8Array | null;
}

const NONE: SharedList = { segments: [], skip: 0, start: 0, count: 0 };

/** Finds what the elements have of an older list. Elements may have been added behind, and taken off the front. */
export async function findShared(
  elements: readonly Typed[],
  { segments, skip }: SegmentedList,
  values: KnownValues,
): Promise<SharedList> {
  if (skip === 0) {
    const matched = await matchSegments(elements, segments, values);
    if (matched.length > 0) return { segments: matched, skip, start: 0, count: countOf(matched) };
  }
  const [first] = elements;
  let before = 0;
  for (const [index, segment] of segments.slice(0, first === undefined ? 0 : MERGED).entries()) {
    const record = await values.read(segment[0]);
    if (record === null) break;
    const known = elementsOf(record, segment[0]);
    const at = known.findIndex((element, place) => (index > 0 || place >= skip) && isSame(element, first as Typed));
    const rest = at === -1 ? [] : known.slice(at);
    if (rest.length > 0) {
      if (rest.length > elements.length || !rest.every((element, place) => isSame(element, elements[place] as Typed)))
        break;
      const behind = await matchSegments(elements.slice(rest.length), segments.slice(index + 1), values);
      const matched = [segment, ...behind];
      return { segments: matched, skip: at, start: before + at - skip, count: countOf(matched) - at };
    }
    before += segment[1];
  }
  return NONE;
}

// The segments that the elements begin with.
async function matchSegments(
  elements: readonly Typed[],
  segments: readonly Segment[],
  values: KnownValues,
): Promise<Segment[]> {
  const matched: Segment[] = [];
  let from = 0;
  for (const segment of segments) {
    const [key, count] = segment;
    if (from + count > elements.length) break;
    const same = elements.slice(from, from + count);
    const record = values.atHand(key);
    const isMatch =
      record === null
        ? (await digestOf(packElements(same))) === key.slice(0, DIGEST)
        : elementsOf(record, key).every((element, place) => isSame(element, same[place] as Typed));
    if (!isMatch) break;
    matched.push(segment);
    from += count;
  }
  return matched;
}
