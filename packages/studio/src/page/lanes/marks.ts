import type { Node } from "./layout.js";

/** Of messages that come newest first: the places of those on the path to a leaf. */
export function pathPlaces(nodes: readonly Node[], leafId: string | null): Set<number> {
  const places = new Set<number>();
  let awaited = leafId;
  for (let place = 0; place < nodes.length && awaited !== null; place += 1) {
    const node = nodes[place] as Node;
    if (node.id !== awaited) continue;
    places.add(place);
    awaited = node.parentId;
  }
  return places;
}

export interface Range {
  readonly fromMessageId: string;
  readonly toMessageId: string;
}

/** Of messages that come newest first: the places of those that a summary covers. */
export function coveredPlaces(nodes: readonly Node[], ranges: readonly Range[]): Set<number> {
  const places = new Set<number>();
  // The first messages of the ranges that go on with a message.
  const open = new Map<string, string[]>();
  const goOn = (id: string, starts: readonly string[]) => open.set(id, [...(open.get(id) ?? []), ...starts]);
  for (const { fromMessageId, toMessageId } of ranges) goOn(toMessageId, [fromMessageId]);
  nodes.forEach(({ id, parentId }, place) => {
    const starts = open.get(id);
    if (starts === undefined) return;
    open.delete(id);
    places.add(place);
    const unfinished = starts.filter((start) => start !== id);
    if (parentId !== null && unfinished.length > 0) goOn(parentId, unfinished);
  });
  return places;
}
