import { all, count, first, type Operation, run } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { COMPACTION_COLUMNS, type CompactionRow, removeSummary } from "./compaction-row.js";
import { type MessagePosition, POSITION } from "./message-position.js";
import { findSegments, firstOfBranch } from "./path.js";
import { ceilingOf, floorOf } from "./row-id.js";

/**
 * Keeps compactions on the messages that are left when `position` is about to be removed: a range that ended there ends one
 * message earlier or later, a range that was only this message goes.
 */
export function* shrinkCompactions(
  rows: SessionRows,
  position: MessagePosition,
  parent: MessagePosition | null,
): Operation<void> {
  const touched = yield* all<CompactionRow>(
    `SELECT ${COMPACTION_COLUMNS} FROM assistant_compactions WHERE ${rows.own}n BETWEEN ? AND ? AND (from_n = ? OR to_n = ?)`,
    ...rows.ids,
    floorOf(rows.sessionNumber),
    ceilingOf(rows.sessionNumber),
    position.rowId,
    position.rowId,
  );
  for (const { n: rowId, from_n, to_n } of touched) {
    if (from_n === to_n) {
      yield* removeSummary(rows, rowId);
    } else if (to_n === position.rowId) {
      const update = `UPDATE assistant_compactions SET to_n = ?, to_message_id = ? WHERE ${rows.own}n = ?`;
      yield* run(update, parent?.rowId ?? null, parent?.id ?? "", ...rows.ids, rowId);
    } else {
      yield* beginBehind(rows, rowId, to_n as number, position.rowId);
    }
  }
}

/**
 * Keeps compactions on the messages that are left when all up to row `cut` are about to be removed. Gives how many were of none
 * that is left, and go.
 */
export function* shrinkToBehind(rows: SessionRows, cut: number): Operation<number> {
  const range = [...rows.ids, floorOf(rows.sessionNumber), ceilingOf(rows.sessionNumber), cut] as const;
  const removal = `DELETE FROM assistant_compactions WHERE ${rows.own}n BETWEEN ? AND ? AND to_n <= ?`;
  const gone = yield* count(removal, range);
  const query = `SELECT ${COMPACTION_COLUMNS} FROM assistant_compactions WHERE ${rows.own}n BETWEEN ? AND ? AND from_n <= ?`;
  const cutOff = yield* all<CompactionRow>(query, ...range);
  for (const { n: rowId, to_n } of cutOff) yield* beginBehind(rows, rowId, to_n as number, cut);
  return gone;
}

// A range begins with the first message of its path behind the row `cut`.
function* beginBehind(rows: SessionRows, rowId: number, to: number, cut: number): Operation<void> {
  const next = yield* followOnPath(rows, to, cut);
  const update = `UPDATE assistant_compactions SET from_n = ?, from_message_id = ? WHERE ${rows.own}n = ?`;
  yield* run(update, next.rowId, next.id, ...rows.ids, rowId);
}

// The message after a row on the path to the row `to`.
function* followOnPath(rows: SessionRows, to: number, rowId: number): Operation<Pick<MessagePosition, "rowId" | "id">> {
  const query = `SELECT ${POSITION} FROM assistant_messages WHERE ${rows.own}n = ?`;
  const end = (yield* first<MessagePosition>(query, ...rows.ids, to)) as MessagePosition;
  for (const { branch, lo, hi } of yield* findSegments(rows, end)) {
    if (hi <= rowId) continue;
    const next = yield* firstOfBranch(rows, branch, Math.max(lo, rowId + 1), hi);
    if (next !== undefined) return next;
  }
  return end;
}
