// All operations on compactions, which share what a range is.
import {
  digestMessage,
  digestRange,
  estimateMessageTokens,
  invalidRange,
  isSummaryMessage,
  noCompaction,
  type SessionMessage,
  SUMMARY_ID_PREFIX,
  staleRange,
  summaryMessage,
} from "@stemma/model";
import type {
  CompactionGuard,
  CompactionSum,
  CompactionSumRequest,
  ImportedCompaction,
  StoredCompaction,
} from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { SessionRows } from "../../engine/operation.js";
import {
  all,
  count,
  first,
  insert,
  mapWithPauses,
  type Operation,
  oneNumber,
  run,
  type SqlValue,
  tuples,
} from "../../engine/operation.js";
import { assertCount, assertStorable, assertTimes } from "../assert-storable.js";
import { type ContentTuple, readable, readRows } from "../messages/content.js";
import { tokensOf } from "../path/measures.js";
import { findSegments, firstOfBranch, readView, selectRanges, spansBetween, visibleSpans } from "../path/path.js";
import {
  ceilingOf,
  findNamed,
  findPosition,
  findSessionHead,
  floorOf,
  isoNow,
  type MessagePosition,
  nextPosition,
  openSessionHead,
  POSITION,
  type SessionHead,
  skillsOf,
} from "../registry/session-head.js";
import { touchSession } from "../registry/sessions.js";
import { inPortions } from "../row-portions.js";
/** The operation behind `SessionStore.addCompaction`. */
export function* addCompaction(
  sql: Dialect,
  sessionId: string,
  compaction: ImportedCompaction,
  guard?: CompactionGuard,
): Operation<StoredCompaction> {
  assertStorable("A summary's", { id: compaction.id, text: compaction.summary });
  assertTimes("A summary's", { createdAt: compaction.createdAt });
  const head = yield* openSessionHead(sql, sessionId);
  const from = yield* endOfRange(sql, sessionId, compaction.fromMessageId, "from");
  const to = yield* endOfRange(sql, sessionId, compaction.toMessageId, "to");
  if (from === null || to === null) {
    if (guard !== undefined) throw staleRange(sessionId);
    const missing = from === null ? compaction.fromMessageId : compaction.toMessageId;
    throw invalidRange(sessionId, compaction, `message "${missing}" is not in this session`);
  }
  const path = yield* findSegments(head.rows, to);
  const onPath = path.some(({ branch, lo, hi }) => branch === from.branch && lo <= from.rowId && from.rowId <= hi);
  if (!onPath) {
    if (guard !== undefined) throw staleRange(sessionId);
    const reversed = from.rowId > to.rowId ? "the range is reversed, or " : "";
    throw invalidRange(sessionId, compaction, `${reversed}its ends are not on one path`);
  }
  if (guard !== undefined && !(yield* holds(sql, head, sessionId, guard, { from, to }))) throw staleRange(sessionId);
  const stored: StoredCompaction = {
    id: compaction.id,
    summary: compaction.summary,
    fromMessageId: from.id,
    toMessageId: to.id,
    createdAt: compaction.createdAt ?? isoNow(),
  };
  const covered =
    compaction.coveredTokens ??
    (yield* tokensOf(sql, head.rows, spansBetween(yield* visibleSpans(head.rows, to), from.rowId, to.rowId)));
  yield* insert("assistant_compactions", {
    n: yield* nextSummaryRow(head.rows),
    id: stored.id,
    summary: stored.summary,
    from_message_id: stored.fromMessageId,
    to_message_id: stored.toMessageId,
    created_at: stored.createdAt,
    from_n: from.rowId,
    to_n: to.rowId,
    session_id: sessionId,
    tokens: estimateMessageTokens(summaryMessage(stored)),
    covered_tokens: covered,
  });
  yield* touchSession(head.rows, head.leaf, head.newest?.rowId ?? null);
  return stored;
}

/** The operation behind `SessionStore.removeCompaction`. */
export function* removeCompaction(sql: Dialect, sessionId: string, id: string): Operation<void> {
  const head = yield* findSessionHead(sql, sessionId);
  const row = yield* findCompaction(sessionId, id);
  if (head === null || row === null) throw noCompaction(sessionId, id);
  yield* removeSummary(head.rows, row.n);
  yield* touchSession(head.rows, head.leaf, head.newest?.rowId ?? null);
}

/** The operation behind `SessionStore.compactions`. */
export function* listCompactions(sessionId: string): Operation<StoredCompaction[]> {
  const query = `SELECT ${COMPACTION_COLUMNS} FROM assistant_compactions WHERE session_id = ? ORDER BY n`;
  return (yield* all<CompactionRow>(query, sessionId)).map((row) => ({
    id: row.id,
    summary: row.summary,
    fromMessageId: row.from_message_id,
    toMessageId: row.to_message_id,
    createdAt: row.created_at,
  }));
}

/** The operation behind `SessionStore.originals`. */
export function* readOriginals(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage[]> {
  const head = yield* findSessionHead(sql, sessionId);
  const row = yield* findCompaction(sessionId, id);
  if (head === null || row === null) throw noCompaction(sessionId, id);
  const to = yield* findPosition(sessionId, row.to_message_id);
  if (to === null || row.from_n === null) return [];
  const from = row.from_n;
  const ranges = (yield* findSegments(head.rows, to))
    .filter(({ hi }) => hi >= from)
    .map((segment) => ({ ...segment, lo: Math.max(segment.lo, from) }));
  const messages: SessionMessage[] = [];
  yield* inPortions(sql, ranges, function* (portion) {
    const rows = yield* tuples<ContentTuple>(...selectRanges(sql, head.rows, "m.n, m.content", portion));
    for (const message of readable(yield* readRows(head.rows, rows))) messages.push(message);
  });
  return messages;
}

// An end may be named by the summary that stands for it.
function* endOfRange(
  sql: Dialect,
  sessionId: string,
  id: string,
  end: "from" | "to",
): Operation<MessagePosition | null> {
  if (end === "to" || !isSummaryMessage({ id })) return yield* findNamed(sql, sessionId, id);
  const compaction = yield* findCompaction(sessionId, id.slice(SUMMARY_ID_PREFIX.length));
  // An upgrade may have brought a message along whose id looks like a summary's.
  return yield* findPosition(sessionId, compaction?.from_message_id ?? id);
}

// Reads the range as a history would show it now: what cannot be read is not what was seen.
function* holds(
  sql: Dialect,
  head: SessionHead,
  sessionId: string,
  guard: CompactionGuard,
  range: Range,
): Operation<boolean> {
  const leaf = yield* findNamed(sql, sessionId, guard.leafId);
  if (leaf === null) return false;
  const spans = spansBetween(yield* visibleSpans(head.rows, leaf), range.from.rowId, range.to.rowId);
  const view = { rows: head.rows, registered: head.registered, leaf, spans, skills: skillsOf(head) };
  const messages = yield* readView(sql, view, { onCorrupt: () => {} });
  return digestRange(yield* mapWithPauses(messages, digestMessage)) === guard.digest;
}

interface Range {
  readonly from: MessagePosition;
  readonly to: MessagePosition;
}

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
export function* nextSummaryRow(rows: SessionRows): Operation<number> {
  const { sessionNumber } = rows;
  const last = yield* oneNumber(
    ...rows.where(
      "SELECT max(n) AS n FROM assistant_compactions",
      "n BETWEEN ? AND ?",
      floorOf(sessionNumber),
      ceilingOf(sessionNumber),
    ),
  );
  return nextPosition(sessionNumber, Math.max(last, floorOf(sessionNumber)));
}

/** Removes a compaction by its row. */
export function removeSummary(rows: SessionRows, rowId: number): Operation<void> {
  return run(...rows.where("DELETE FROM assistant_compactions", "n = ?", rowId));
}

const DEFAULT_LIMIT = 100;

/** The operation behind `SessionRegistry.compactionSums`. By an index that holds no summaries. */
export function* sumCompactions(
  sql: Dialect,
  { by, sessionId, userId, from, to, limit = DEFAULT_LIMIT }: CompactionSumRequest,
): Operation<CompactionSum[]> {
  assertCount(limit, "The limit of a list");
  const day = sql.dayOf("c.created_at");
  const name = { day, session: "c.session_id", compaction: "c.id" }[by];
  const given: readonly (readonly [string, SqlValue | undefined])[] = [
    ["c.session_id = ?", sessionId],
    ["c.session_id IN (SELECT s.id FROM assistant_sessions s WHERE s.user_id = ?)", userId],
    [`${day} >= ?`, from],
    [`${day} <= ?`, to],
  ];
  const set = given.filter(([, value]) => value !== undefined);
  const rows = yield* all<Record<keyof CompactionSum, number | string>>(
    `SELECT ${name} AS name, count(*) AS compactions, sum(c.covered_tokens) AS "tokensBefore", sum(c.tokens) AS "tokensAfter"
     FROM assistant_compactions c WHERE ${["c.covered_tokens IS NOT NULL", ...set.map(([condition]) => condition)].join(" AND ")}
     GROUP BY ${by === "compaction" ? "c.session_id, c.id" : "1"}
     ORDER BY ${by === "day" ? "" : "sum(c.covered_tokens - c.tokens) DESC, "}1 DESC LIMIT ?`,
    ...set.map(([, value]) => value as SqlValue),
    limit,
  );
  return rows.map((row) => ({
    name: String(row.name),
    compactions: Number(row.compactions),
    tokensBefore: Number(row.tokensBefore),
    tokensAfter: Number(row.tokensAfter),
  }));
}

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
    ...rows.where(
      `SELECT ${COMPACTION_COLUMNS} FROM assistant_compactions`,
      "n BETWEEN ? AND ? AND (from_n = ? OR to_n = ?)",
      floorOf(rows.sessionNumber),
      ceilingOf(rows.sessionNumber),
      position.rowId,
      position.rowId,
    ),
  );
  for (const { n: rowId, from_n, to_n } of touched) {
    if (from_n === to_n) {
      yield* removeSummary(rows, rowId);
    } else if (to_n === position.rowId) {
      yield* run(
        ...rows.where(
          "UPDATE assistant_compactions SET to_n = ?, to_message_id = ?",
          "n = ?",
          parent?.rowId ?? null,
          parent?.id ?? "",
          rowId,
        ),
      );
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
  const range = [floorOf(rows.sessionNumber), ceilingOf(rows.sessionNumber), cut] as const;
  const gone = yield* count(
    ...rows.where("DELETE FROM assistant_compactions", "n BETWEEN ? AND ? AND to_n <= ?", ...range),
  );
  const query = `SELECT ${COMPACTION_COLUMNS} FROM assistant_compactions`;
  const cutOff = yield* all<CompactionRow>(...rows.where(query, "n BETWEEN ? AND ? AND from_n <= ?", ...range));
  for (const { n: rowId, to_n } of cutOff) yield* beginBehind(rows, rowId, to_n as number, cut);
  return gone;
}

// A range begins with the first message of its path behind the row `cut`.
function* beginBehind(rows: SessionRows, rowId: number, to: number, cut: number): Operation<void> {
  const next = yield* followOnPath(rows, to, cut);
  yield* run(
    ...rows.where(
      "UPDATE assistant_compactions SET from_n = ?, from_message_id = ?",
      "n = ?",
      next.rowId,
      next.id,
      rowId,
    ),
  );
}

// The message after a row on the path to the row `to`.
function* followOnPath(rows: SessionRows, to: number, rowId: number): Operation<Pick<MessagePosition, "rowId" | "id">> {
  const end = (yield* first<MessagePosition>(
    ...rows.where(`SELECT ${POSITION} FROM assistant_messages`, "n = ?", to),
  )) as MessagePosition;
  for (const { branch, lo, hi } of yield* findSegments(rows, end)) {
    if (hi <= rowId) continue;
    const next = yield* firstOfBranch(rows, branch, Math.max(lo, rowId + 1), hi);
    if (next !== undefined) return next;
  }
  return end;
}
