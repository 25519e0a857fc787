import type { MethodRow, Named } from "@stemma/store";

/** As many calls as are sent together. */
const MOST_CALLS = 100;
/** Characters of them, unless one has more. */
const MOST_TEXT = 1_000_000;

/** A call that waits, or that is sent. */
export interface Sent {
  readonly locks: readonly Lock[];
  /** Characters that it takes. */
  readonly size: number;
  /** It is sent by itself. */
  readonly isAlone: boolean;
}

/** The locks of calls: how many read each, and whether one writes it. */
class Held {
  readonly #readers = new Map<string, number>();
  readonly #writers = new Map<string, number>();

  add(locks: readonly Lock[], by = 1): void {
    for (const [key, writes] of locks) {
      const counts = writes ? this.#writers : this.#readers;
      const count = (counts.get(key) ?? 0) + by;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    }
  }

  reads = ([key, writes]: Lock): boolean => writes && this.#readers.has(key);

  conflicts = (lock: Lock): boolean => this.reads(lock) || this.#writers.has(lock[0]);
}

/**
 * Puts calls in order. One is sent when none that conflicts with it is under way, so that any server may answer it; calls that
 * wait share the next request. In a request, what reads may stand behind what writes, and not before: sent again, it would read what
 * was written after it.
 */
export class Lanes<Call extends Sent> {
  readonly #held = new Held();
  #waiting: Call[] = [];

  add(call: Call): void {
    this.#waiting.push(call);
  }

  /** Calls that may be sent now, together; none where all wait. */
  next(): Call[] {
    const batch: Call[] = [];
    const left: Call[] = [];
    const inBatch = new Held();
    const leftBehind = new Held();
    let size = 0;
    const hasRoom = (call: Call) =>
      batch.length === 0 || (size + call.size <= MOST_TEXT && !call.isAlone && batch[0]?.isAlone === false);
    const mayGo = (lock: Lock) => !(this.#held.conflicts(lock) || inBatch.reads(lock) || leftBehind.conflicts(lock));
    let seen = 0;
    for (const call of this.#waiting) {
      // The rest is not looked at: there may be much of it.
      if (batch.length === MOST_CALLS) break;
      seen += 1;
      const goes = hasRoom(call) && call.locks.every(mayGo);
      (goes ? inBatch : leftBehind).add(call.locks);
      (goes ? batch : left).push(call);
      if (goes) size += call.size;
    }
    if (batch.length > 0) this.#waiting = [...left, ...this.#waiting.slice(seen)];
    for (const { locks } of batch) this.#held.add(locks);
    return batch;
  }

  /** A call is over. */
  end({ locks }: Call): void {
    this.#held.add(locks, -1);
  }
}

/** Something that calls have in common: those that write it wait for each other, and for those that read it. */
export type Lock = readonly [key: string, writes: boolean];

const MEMORY = "\0memory";
const RECORDS = "\0records";

/** The locks of a call, by the sessions, memory and records that it names. */
export function locksOf(
  { mode, names }: MethodRow,
  sessionId: string | undefined,
  userId: string | undefined,
  values: readonly unknown[],
): Lock[] {
  const writes = mode === "write";
  const named = namedBy(names, values);
  const all = sessionId === undefined ? named : [{ session: sessionId }, ...named];
  return all.flatMap((each) => locksOfOne(each, userId ?? "", writes));
}

// What cannot be read is refused by the server.
function namedBy(names: MethodRow["names"], values: readonly unknown[]): readonly Named[] {
  try {
    return names(values);
  } catch {
    return [];
  }
}

// What becomes of its messages concerns a session's memory and its records, too. These two do not concern each other.
function locksOfOne(named: Named, userId: string, writes: boolean): Lock[] {
  if ("session" in named) return ["", MEMORY, RECORDS].map((part) => [named.session + part, writes]);
  const [session, part, place] =
    "records" in named
      ? [named.records, RECORDS, RECORDS]
      : [named.memory.sessionId, MEMORY, JSON.stringify([userId, named.memory.scope])];
  if (session) return [[session + part, writes]];
  // Of no session, what stands under one label does not wait for another label. Whoever names none concerns all.
  const { label } = named;
  return label === null
    ? [[place, true]]
    : [
        [place, false],
        [`${place}\0${label}`, writes],
      ];
}
