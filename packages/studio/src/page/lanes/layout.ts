export interface Node {
  readonly id: string;
  readonly parentId: string | null;
}

/** How one row of the tree is drawn: its dot, and the lines that cross it or begin and end in it. */
export interface LaneRow {
  /** The column of the dot. */
  readonly lane: number;
  /** A line comes from the row above into the dot. */
  readonly comesFromAbove: boolean;
  /** The column in which the line to the parent goes on below; null for a root. */
  readonly parentLane: number | null;
  /** A column whose line bends into the column of this dot, because it leads to the same parent; null for none. */
  readonly joiningLane: number | null;
  /** Columns whose lines only pass by. */
  readonly passing: readonly number[];
  /** More than one message follows this one. */
  readonly isFork: boolean;
}

export interface Layout {
  readonly rows: readonly LaneRow[];
  readonly width: number;
}

/**
 * Lays out messages as lanes, newest first, from their parents only. A lane leads from a message down to its parent. Lines
 * to the same parent join at once in the left one of their lanes, so no two lanes wait for one message. Lane 0 is kept for
 * the path to `mainLeaf`.
 */
export class LaneLayout {
  readonly #rows: LaneRow[] = [];
  // What each lane waits for; null where it is free.
  readonly #waits: (string | null)[];
  readonly #laneOf = new Map<string, number>();
  readonly #joined = new Set<string>();
  #mainLeaf: string | null;
  #passing: readonly number[] = [];
  #width = 1;

  constructor(mainLeaf: string | null) {
    this.#mainLeaf = mainLeaf;
    this.#waits = [null];
  }

  /** Lays out further messages, older than all before. */
  add(nodes: readonly Node[]): Layout {
    for (const node of nodes) this.#rows.push(this.#place(node));
    return { rows: [...this.#rows], width: this.#width };
  }

  #place({ id, parentId }: Node): LaneRow {
    const waiting = this.#laneOf.get(id);
    const lane = waiting ?? this.#freeLane(id);
    this.#leave(id, lane);
    const before = this.#passing;
    const parentLane = parentId === null ? null : this.#waitFor(parentId, lane);
    const joiningLane = parentLane === lane ? (before.find((other) => this.#waits[other] === null) ?? null) : null;
    const passing = joiningLane === null ? before : before.filter((other) => other !== joiningLane);
    const isFork = this.#joined.delete(id);
    return { lane, comesFromAbove: waiting !== undefined, parentLane, joiningLane, passing, isFork };
  }

  // The lane for a message that nothing above leads to.
  #freeLane(id: string): number {
    if (id === this.#mainLeaf) {
      this.#mainLeaf = null;
      return 0;
    }
    // Until the main leaf has come, lane 0 stays empty.
    const first = this.#mainLeaf === null ? 0 : 1;
    const free = this.#waits.findIndex((waited, lane) => lane >= first && waited === null);
    return free >= 0 ? free : Math.max(first, this.#waits.length);
  }

  #leave(id: string, lane: number): void {
    this.#width = Math.max(this.#width, lane + 1);
    if (!this.#laneOf.delete(id)) return;
    this.#waits[lane] = null;
    this.#passing = this.#passing.filter((other) => other !== lane);
  }

  #waitFor(parentId: string, lane: number): number {
    const present = this.#laneOf.get(parentId);
    if (present !== undefined) {
      this.#joined.add(parentId);
      if (present < lane) return present;
      this.#waits[present] = null;
      this.#passing = this.#passing.filter((other) => other !== present);
    }
    this.#waits[lane] = parentId;
    this.#laneOf.set(parentId, lane);
    this.#passing = [...this.#passing, lane];
    return lane;
  }
}

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

/** Knows the newest leaf below each message, of messages that come newest first. */
export class NewestLeaf {
  readonly #leaves = new Map<string, string>();

  add(nodes: readonly Node[]): void {
    for (const { id, parentId } of nodes) {
      // A message that nothing newer leads to is a leaf; its line of parents is new up to where another line joined.
      const leaf = this.#leaves.get(id) ?? id;
      this.#leaves.set(id, leaf);
      if (parentId !== null && !this.#leaves.has(parentId)) this.#leaves.set(parentId, leaf);
    }
  }

  /** The newest message below one, or itself; null where the message did not come yet. */
  below(id: string): string | null {
    return this.#leaves.get(id) ?? null;
  }
}
