import { Queue } from "@stemma/model";
import type { OpenTransaction, SyncConnection } from "./connection.js";
import { driveSome } from "./drive.js";
import type { Operation, Row } from "./operation.js";

// What an engine that answers at once does for long would hold up the process. So a long operation is interrupted between two
// of its statements, and goes on in a later turn of the event loop, in the same transaction. The calls that are made
// meanwhile wait in a lane.

/** How long an operation works before the event loop turns, in milliseconds. */
const STEP = 15;
/** The same where the turn took longer: others wait for the transaction, and it must come to its end. */
const LONGEST_STEP = 30;

// The one that is there now: a test may put another in its place.
const afterPoll: (work: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

/** A value, or a promise of it where it is not there at once. */
export type MaybeLater<T> = T | Promise<T>;

/** A key of a queue: who holds it is alone with a database. */
export interface Lane {
  readonly queue: Queue;
  readonly key: string;
}

export const ownLane = (): Lane => ({ queue: new Queue(), key: "" });

/** A call that took longer may have written much, which takes long to commit, in milliseconds. */
const LONG = 100;

/** Runs an operation to the end of its transaction: at once where it is short. */
export function runInSteps<T>(
  open: OpenTransaction,
  operation: Operation<T>,
  connection: () => SyncConnection,
): MaybeLater<T> {
  const orUndo = <R>(work: () => R): R => {
    try {
      return work();
    } catch (error) {
      open.rollback();
      throw error;
    }
  };
  const work = (time: number, rows: Row[]) => {
    const end = performance.now() + time;
    return driveSome(() => performance.now() < end, operation, connection(), rows);
  };
  const step = orUndo(() => {
    const first = work(STEP, []);
    if (first.done) open.commit();
    return first;
  });
  return step.done ? step.value : goOn(step.rows);

  async function goOn(given: Row[]): Promise<T> {
    const begun = performance.now();
    for (let rows = given; ; ) {
      const away = await turn();
      const step = orUndo(() => work(Math.min(Math.max(STEP, away), LONGEST_STEP), rows));
      if (step.done) {
        const { commitMuch } = open;
        if (commitMuch === undefined || performance.now() - begun < LONG) orUndo(open.commit);
        else await commitInPieces(commitMuch);
        return step.value;
      }
      rows = step.rows;
    }
  }

  async function commitInPieces(commitMuch: () => () => void): Promise<void> {
    await turn();
    const finish = orUndo(commitMuch);
    await turn();
    try {
      finish();
    } catch {
      // It is committed all the same.
    }
  }
}

// Gives how long it took, in milliseconds.
async function turn(): Promise<number> {
  const left = performance.now();
  await new Promise<void>((resolve) => afterPoll(resolve));
  return performance.now() - left;
}
