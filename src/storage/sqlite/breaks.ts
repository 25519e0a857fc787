import type { Breaks } from "../engine/runner.js";
import type { SqliteClient } from "./client.js";

/** How long calls that follow each other keep the event loop from turning, in milliseconds. */
const LONGEST = 20;
/** How many answers are due in one turn at most. */
const AT_ONCE = 100;

// Those that are there now: a test may put others in their place.
const now = performance.now.bind(performance);
const afterPoll: (work: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

// Of all stores: a program may read from one and write to the other.
let busySince: number | null = null;
/** Calls that are done, and answered in this order. */
const waiting: (() => void)[] = [];
let scheduled = 0;
/** Since when calls are answered in this turn. */
let answeringSince: number | null = null;

const turned = (): void => {
  busySince = null;
};

const nextTurn = (): void => {
  answeringSince = null;
};

// What was answered goes on before the next one is: it makes its next call, say. So each turn answers one, and more while there is time.
const answerOne = (): void => {
  if (answeringSince === null) {
    answeringSince = now();
    afterPoll(nextTurn);
  } else if (now() - answeringSince >= LONGEST) {
    afterPoll(answerOne);
    return;
  }
  waiting.shift()?.();
  if (waiting.length >= scheduled) afterPoll(answerOne);
  else scheduled -= 1;
};

function answerLater(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (scheduled === AT_ONCE) return;
    scheduled += 1;
    afterPoll(answerOne);
  });
}

// A module may refuse to tell of a database that its program closed.
function isInTransaction(client: SqliteClient): boolean {
  try {
    return (client.inTransaction ?? client.isTransaction) === true;
  } catch {
    return false;
  }
}

/**
 * SQLite works while it is called, and what is awaited then is there already: a program that makes one call after the other would
 * keep timers and sockets waiting until it is done. So a call is now and then answered a turn of the event loop later; its work is
 * done at once all the same. Not in a transaction that the program began, into which others would write.
 */
export function breaksOf(client: SqliteClient): Breaks {
  return {
    begin: () => {
      if (busySince !== null) return;
      busySince = now();
      afterPoll(turned);
    },
    due: (isClosed) => {
      const isDue = waiting.length > 0 || (busySince !== null && now() - busySince >= LONGEST);
      return isDue && (isClosed || !isInTransaction(client)) ? answerLater() : null;
    },
  };
}
