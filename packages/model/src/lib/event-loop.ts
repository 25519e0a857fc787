/** How long work keeps the event loop waiting, in milliseconds. */
const LONGEST = 20;
/** How many go on in one yield at most. */
const AT_ONCE = 100;

// Those that are there now: a test may put others in their place.
const now = performance.now.bind(performance);
const afterPoll: (work: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

// Of all work, whoever does it: a program may read from one store and write to another.
let busySince: number | null = null;
const waiting: (() => void)[] = [];
let scheduled = 0;
/** Since when what waited goes on in this yield. */
let goingOnSince: number | null = null;

const yielded = (): void => {
  busySince = null;
};

const nextYield = (): void => {
  goingOnSince = null;
};

// What goes on works before the next one does: it makes its next call, say. So each yield lets one go on, and more while there is time.
const letOneGoOn = (): void => {
  if (goingOnSince === null) {
    goingOnSince = now();
    afterPoll(nextYield);
  } else if (now() - goingOnSince >= LONGEST) {
    afterPoll(letOneGoOn);
    return;
  }
  waiting.shift()?.();
  if (waiting.length >= scheduled) afterPoll(letOneGoOn);
  else scheduled -= 1;
};

/** Notes that there is work in this round of the event loop. */
export function beginWork(): void {
  if (busySince !== null) return;
  busySince = now();
  afterPoll(yielded);
}

/** True when work has kept the event loop waiting for so long that others are due. */
export function isYieldDue(): boolean {
  return waiting.length > 0 || (busySince !== null && now() - busySince >= LONGEST);
}

/** Lets the event loop run, and waits for what waited before. */
export function yieldNow(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (scheduled === AT_ONCE) return;
    scheduled += 1;
    afterPoll(letOneGoOn);
  });
}

/** Long work waits for this between two of its pieces. Null while it need not wait. */
export function yieldIfDue(): Promise<void> | null {
  beginWork();
  return isYieldDue() ? yieldNow() : null;
}

/** Does something for each item, and lets the event loop run meanwhile. */
export async function forEachYielding<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  for (const item of items) {
    work(item);
    const due = yieldIfDue();
    if (due !== null) await due;
  }
}

/** Work that can pause wherever it yields. */
export type Pieces<T> = Generator<undefined, T, undefined>;

/** Does work without a pause. */
export function atOnce<T>(work: Pieces<T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
  }
}

/** Does work, and lets the event loop run meanwhile. */
export async function inPieces<T>(work: Pieces<T>): Promise<T> {
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
    const due = yieldIfDue();
    if (due !== null) await due;
  }
}

export function* mapped<T, R>(items: readonly T[], make: (item: T, index: number) => R): Pieces<R[]> {
  const made: R[] = [];
  for (const item of items) {
    made.push(make(item, made.length));
    yield;
  }
  return made;
}
