import { Queue } from "../../queue.js";
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

/** Runs an operation to the end of its transaction: at once where it is short. */
export function runInSteps<T>(
  open: OpenTransaction,
  operation: Operation<T>,
  connection: () => SyncConnection,
): MaybeLater<T> {
  const work = (time: number, rows: Row[]) => {
    const end = performance.now() + time;
    try {
      const step = driveSome(() => performance.now() < end, operation, connection(), rows);
      if (step.done) open.commit();
      return step;
    } catch (error) {
      open.rollback();
      throw error;
    }
  };
  const step = work(STEP, []);
  return step.done ? step.value : goOn(work, step.rows);
}

async function goOn<T>(work: (time: number, rows: Row[]) => ReturnType<typeof driveSome<T>>, rows: Row[]): Promise<T> {
  for (let given = rows; ; ) {
    const left = performance.now();
    await new Promise<void>((resolve) => afterPoll(resolve));
    const away = performance.now() - left;
    const step = work(Math.min(Math.max(STEP, away), LONGEST_STEP), given);
    if (step.done) return step.value;
    given = step.rows;
  }
}
