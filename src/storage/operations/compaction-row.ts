import { first, type Operation, oneNumber, run } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { ceilingOf, floorOf, nextPosition } from "./row-id.js";

/** A row of a compaction, as the operations read it. */
export interface CompactionRow {
  readonly n: number;
  readonly id: string;
  readonly summary: string;
  readonly from_message_id: string;
  readonly to_message_id: string;
  readonly created_at: string;
  /** Null when an upgrade brought a compaction along whose range is gone. */
  readonly from_n: number | null;
  readonly to_n: number | null;
}

export const COMPACTION_COLUMNS = "n, id, summary, from_message_id, to_message_id, created_at, from_n, to_n";

/** One compaction of a session, or null. */
export function* findCompaction(sessionId: string, id: string): Operation<CompactionRow | null> {
  const query = `SELECT ${COMPACTION_COLUMNS} FROM assistant_compactions WHERE session_id = ? AND id = ?`;
  return (yield* first<CompactionRow>(query, sessionId, id)) ?? null;
}

/** The row of a session's next compaction. */
export function* nextSummaryRow({ own, ids, sessionNumber }: SessionRows): Operation<number> {
  const query = `SELECT max(n) AS n FROM assistant_compactions WHERE ${own}n BETWEEN ? AND ?`;
  const last = yield* oneNumber(query, ...ids, floorOf(sessionNumber), ceilingOf(sessionNumber));
  return nextPosition(sessionNumber, Math.max(last, floorOf(sessionNumber)));
}

/** Removes a compaction by its row. */
export function removeSummary(rows: SessionRows, rowId: number): Operation<void> {
  return run(`DELETE FROM assistant_compactions WHERE ${rows.own}n = ?`, ...rows.ids, rowId);
}
