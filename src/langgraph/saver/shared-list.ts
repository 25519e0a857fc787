import {
  countOf,
  DIGEST,
  digestOf,
  elementsOf,
  isSame,
  MERGED,
  packElements,
  type Segment,
  type SegmentedList,
  type SharedList,
  type Typed,
} from "./segments.js";

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
