import { findJsonObject, type JsonObject, sameJson } from "../lib/json.js";
import { compare, type Run } from "../search/joined-terms.js";

/**
 * A text without what one write did to it, which made `after` of `before`. What others wrote later stays. Null where they
 * changed the very lines, or of JSON objects the very fields, that the write had changed.
 */
export function takenBack(present: string, before: string, after: string): string | null {
  if (present === after || present === before) return before;
  const [now, old, written] = [
    findJsonObject(present),
    before === "" ? {} : findJsonObject(before),
    findJsonObject(after),
  ];
  if (now !== null && old !== null && written !== null) return fieldsTakenBack(now, old, written);
  const lines = linesTakenBack(linesOf(present), linesOf(before), linesOf(after));
  return lines === null ? null : lines.join("\n");
}

// A text that is empty has no line, not an empty one.
const linesOf = (text: string) => (text === "" ? [] : text.split("\n"));

function linesTakenBack(
  present: readonly string[],
  before: readonly string[],
  after: readonly string[],
): string[] | null {
  const anchors = placesOf(after, present);
  const goes = new Set<number>();
  const comes = new Map<number, readonly string[]>();
  for (const { at, removed, added } of changesOf(compare(before, after))) {
    const places = added.map((_, index) => anchors.get(at + index));
    if (places.some((place) => place === undefined)) return null;
    for (const place of places) goes.add(place as number);
    if (removed.length === 0) continue;
    const place = places[0] ?? placeBetween(anchors, at, after.length, present.length);
    if (place === null) return null;
    comes.set(place, removed);
  }
  return [...present, ""].flatMap((line, index) => [
    ...(comes.get(index) ?? []),
    ...(index === present.length || goes.has(index) ? [] : [line]),
  ]);
}

interface Change {
  /** Where it begins in the text that was written. */
  readonly at: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

function changesOf(runs: readonly Run[]): Change[] {
  const changes: Change[] = [];
  let at = 0;
  for (const [index, { kind, items }] of runs.entries()) {
    const removed = runs[index - 1];
    if (kind === "added") changes.push({ at, removed: removed?.kind === "removed" ? removed.items : [], added: items });
    else if (kind === "removed" && runs[index + 1]?.kind !== "added") changes.push({ at, removed: items, added: [] });
    if (kind !== "removed") at += items.length;
  }
  return changes;
}

// Where each line of a text stands in a later one.
function placesOf(text: readonly string[], later: readonly string[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  let [from, to] = [0, 0];
  for (const { kind, items } of compare(text, later)) {
    if (kind === "same") for (const index of items.keys()) places.set(from + index, to + index);
    if (kind !== "added") from += items.length;
    if (kind !== "removed") to += items.length;
  }
  return places;
}

// Where what was removed before line `at` stood: between its neighbours, as far as they are there.
function placeBetween(
  places: ReadonlyMap<number, number>,
  at: number,
  length: number,
  presentLength: number,
): number | null {
  if (at === 0) return 0;
  const lineBefore = places.get(at - 1);
  if (lineBefore !== undefined) return lineBefore + 1;
  return at === length ? presentLength : (places.get(at) ?? null);
}

function fieldsTakenBack(present: JsonObject, before: JsonObject, after: JsonObject): string | null {
  const fields = new Map(Object.entries(present));
  const [old, written] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  for (const name of new Set([...old.keys(), ...written.keys()])) {
    if (sameJson(old.get(name), written.get(name))) continue;
    if (!sameJson(fields.get(name), written.get(name))) return null;
    if (old.has(name)) fields.set(name, old.get(name));
    else fields.delete(name);
  }
  return fields.size === 0 ? "" : JSON.stringify(Object.fromEntries(fields), null, 2);
}
