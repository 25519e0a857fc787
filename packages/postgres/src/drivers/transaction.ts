import { queueOf } from "@stemma/model";
import type { PostgresQuery } from "./column-types.js";

/** One connection holds one transaction: others wait for its end. */
export function alone<T>(client: object, work: () => Promise<T>): Promise<T> {
  return queueOf(client).write("", work);
}

/** Rules out reading whole tables: our statements read by an index, but without statistics the planner may not see that it pays. */
export const SETTINGS = "SELECT set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true)";

interface Frame {
  readonly begin: readonly string[];
  readonly commit: string;
  readonly rollback: string;
}

/** A transaction. */
export const BEGIN = (characteristics: string): Frame => ({
  begin: [`BEGIN ${characteristics}; ${SETTINGS}`],
  commit: "COMMIT",
  rollback: "ROLLBACK",
});
/** Not every driver takes two statements at once. */
export const BEGIN_APART = (characteristics: string): Frame => ({
  ...BEGIN(characteristics),
  begin: [`BEGIN ${characteristics}`, SETTINGS],
});
/** A part of a transaction of the host's. */
export const SAVEPOINT: Frame = {
  begin: ["SAVEPOINT stemma"],
  commit: "RELEASE SAVEPOINT stemma",
  rollback: "ROLLBACK TO SAVEPOINT stemma",
};

/** Whether a statement and the next one are in one transaction: a value that lasts until its end is there for the next one. */
export async function isInTransaction(query: PostgresQuery): Promise<boolean> {
  const mark = crypto.randomUUID();
  await query(`SELECT set_config('stemma.transaction', '${mark}', true) AS mark`, []);
  const { rows } = await query("SELECT current_setting('stemma.transaction', true) AS mark", []);
  return rows[0]?.mark === mark;
}

/** Runs work between the statements of a frame. `onBroken` hears of a connection that cannot roll back. */
export async function inTransaction<T>(
  query: PostgresQuery,
  frame: Frame,
  work: (query: PostgresQuery) => Promise<T>,
  onBroken: () => void = () => {},
): Promise<T> {
  try {
    for (const statement of frame.begin) await query(statement, []);
    const result = await work(query);
    await query(frame.commit, []);
    return result;
  } catch (error) {
    // A connection that cannot roll back is gone, and the server rolls back by itself.
    const [rollback] = await Promise.allSettled([query(frame.rollback, [])]);
    if (rollback.status === "rejected") onBroken();
    throw error;
  }
}
