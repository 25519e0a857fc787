import { summaryMessage } from "../../model/compactions.js";
import { digestMessage, digestRange } from "../../model/digest.js";
import { isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX } from "../../model/message.js";
import { estimateMessageTokens } from "../../model/tokens.js";
import { invalidRange, noCompaction, staleRange } from "../../model/tree-errors.js";
import type { CompactionGuard, ImportedCompaction, StoredCompaction } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, insert, mapWithPauses, type Operation, tuples } from "../engine/operation.js";
import { assertStorable, assertTimes } from "./assert-storable.js";
import { isoNow } from "./clock.js";
import {
  COMPACTION_COLUMNS,
  type CompactionRow,
  findCompaction,
  nextSummaryRow,
  removeSummary,
} from "./compaction-row.js";
import { type ContentTuple, readable, readRows } from "./content.js";
import { tokensOf } from "./measures.js";
import { findNamed, findPosition, type MessagePosition } from "./message-position.js";
import { findSegments, selectRanges } from "./path.js";
import { spansBetween, visibleSpans } from "./path-spans.js";
import { inPortions } from "./row-portions.js";
import { touchSession } from "./session-dates.js";
import { findSessionHead, openSessionHead, type SessionHead } from "./session-head.js";
import { skillsOf } from "./skill-state.js";
import { readView } from "./view.js";

/** See `SessionStore.addCompaction`. */
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

/** See `SessionStore.removeCompaction`. */
export function* removeCompaction(sql: Dialect, sessionId: string, id: string): Operation<void> {
  const head = yield* findSessionHead(sql, sessionId);
  const row = yield* findCompaction(sessionId, id);
  if (head === null || row === null) throw noCompaction(sessionId, id);
  yield* removeSummary(head.rows, row.n);
  yield* touchSession(head.rows, head.leaf, head.newest?.rowId ?? null);
}

/** See `SessionStore.compactions`. */
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

/** See `SessionStore.originals`. */
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
