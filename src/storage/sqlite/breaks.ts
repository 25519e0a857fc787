import type { Breaks } from "../engine/runner.js";
import type { SqliteClient } from "./client.js";

/** How long calls that follow each other keep the event loop from turning, in milliseconds. */
const LONGEST = 20;

// Those that are there now: a test may put others in their place.
const now = performance.now.bind(performance);
const afterPoll: (work: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

// Of all stores: a program may read from one and write to the other.
let busySince: number | null = null;
let next: Promise<void> | null = null;

const turned = (): void => {
  busySince = null;
  next = null;
};

function nextTurn(): Promise<void> {
  next ??= new Promise((resolve) => {
    afterPoll(() => {
      turned();
      resolve();
    });
  });
  return next;
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
    due: () => {
      if (busySince === null || now() - busySince < LONGEST) return null;
      return (client.inTransaction ?? client.isTransaction) === true ? null : nextTurn();
    },
  };
}
