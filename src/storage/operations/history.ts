import { isMarked } from "../../model/codec.js";
import { summaryMessage } from "../../model/compactions.js";
import type { SessionMessage } from "../../model/message.js";
import { hideUnloaded } from "../../model/skill-view.js";
import { NO_SKILLS, type SkillState } from "../../model/skills.js";
import { searchableText, utf8Length } from "../../model/text.js";
import type { HistoryRowStat, RecentHistory, TreeNode, TreePage } from "../contract.js";
import type { CorruptHandler, Dialect, PathOptions } from "../engine/dialect.js";
import { all, column, first, type Operation, run, tuples } from "../engine/operation.js";
import { type ContentRow, type ContentTuple, readContent, readContents, readRows } from "./content.js";
import { assertOrder, damaged, reportDamage, rowAfter } from "./damage.js";
import { currentTotal } from "./messages.js";
import { findSegments, type PathSpan, portionsOf, rangesOf, type Segment, selectRanges, visibleSpans } from "./path.js";
import { ceilingOf, floorOf } from "./row-id.js";
import {
  assertWithin,
  findPosition,
  findSessionHead,
  type MessagePosition,
  messageNotFound,
  resolveLeaf,
  type SessionHead,
  type SessionRow,
} from "./session-head.js";

/** See `SessionStore.message`. */
export function* readMessage(sessionId: string, id: string): Operation<SessionMessage | null> {
  const row = yield* first<ContentRow>(
    "SELECT n, content FROM assistant_messages WHERE session_id = ? AND id = ?",
    sessionId,
    id,
  );
  if (row === undefined) return null;
  const head = yield* findSessionHead(sessionId);
  assertWithin(head, { n: row.n, id });
  const message = yield* readContent((head as SessionHead).no, row);
  // Of a row that was written without an id, an upgrade made one up.
  if (message !== null && message.id !== id && !id.startsWith(MADE_UP_ID)) {
    throw damaged({ messageId: id }, `The row of message "${id}" holds the message "${message.id}".`);
  }
  return message;
}

/** See `SessionStore.leaf`. */
export function* readLeaf(sessionId: string): Operation<SessionMessage | null> {
  const head = yield* findSessionHead(sessionId);
  const leaf = head === null ? null : yield* resolveLeaf(sessionId, head, undefined);
  return leaf === null ? null : yield* readMessage(sessionId, leaf.id);
}

/** What a reader of a session's visible path needs; null for a session without an active leaf. */
export interface View {
  readonly no: number;
  readonly leaf: MessagePosition;
  readonly spans: readonly PathSpan[];
  readonly skills: SkillState;
}

/** Finds the path to `leafId`, or to the active leaf: what is visible of it, or all of it. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
export function* openView(
  sessionId: string,
  { leafId, onCorrupt, summaries = true }: PathOptions,
): Operation<View | null> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return leafId === undefined ? null : messageNotFound(sessionId, leafId);
  const leaf = yield* resolveLeaf(sessionId, head, leafId, onCorrupt);
  if (leaf === null) return null;
  const { no: sessionNumber } = head;
  if (summaries)
    return {
      no: sessionNumber,
      leaf,
      spans: yield* visibleSpans(sessionNumber, leaf, onCorrupt),
      skills: skillsOf(head, onCorrupt),
    };
  const segments = yield* findSegments(sessionNumber, leaf, onCorrupt);
  return { no: sessionNumber, leaf, spans: segments.map((range) => ({ range })), skills: NO_SKILLS };
}

/** The skill state that a session's row holds. Errors: `CORRUPT_MESSAGE`; with `onCorrupt` it is told, and none is given. */
export function skillsOf(row: SessionRow, onCorrupt?: CorruptHandler): SkillState {
  if (row.skills === null) return NO_SKILLS;
  const state = parseSkills(row.skills);
  if (state !== null) return state;
  const why = "Which skills the session loaded cannot be read.";
  reportDamage(onCorrupt, "", damaged({ sessionNumber: row.no }, why));
  return NO_SKILLS;
}

/** The skill state of its JSON, or null for what is none. */
export function parseSkills(json: unknown): SkillState | null {
  try {
    const state = JSON.parse(String(json)) as SkillState;
    const all = [...state.loaded, ...state.unloaded];
    const isState = all.every(
      ({ label, key, toolCallIds }) =>
        typeof label === "string" && typeof key === "string" && Array.isArray(toolCallIds),
    );
    return isState && state.unloaded.every(({ through }) => typeof through === "number") ? state : null;
  } catch {
    return null;
  }
}

/** Begins the ids that an upgrade gave to rows without one. */
const MADE_UP_ID = "agents-row-";

// What was read is decoded before more is read: text that is kept for long costs more to clear away than to read.
const ROWS_AT_ONCE = 1024;

/** See `SessionStore.path`. */
export function* readPath(sql: Dialect, sessionId: string, options: PathOptions): Operation<SessionMessage[]> {
  const view = yield* openView(sessionId, options);
  return view === null ? [] : yield* readView(sql, view, options);
}

/** The messages that a view shows, oldest first. */
export function* readView(sql: Dialect, view: View, options: PathOptions): Operation<SessionMessage[]> {
  const messages: SessionMessage[] = [];
  const read = view.skills.unloaded.length === 0 ? readAsStored : readWithSkills;
  for (const portion of portionsOf(view.spans, ROWS_AT_ONCE)) {
    if (!Array.isArray(portion)) messages.push(summaryMessage(portion));
    else for (const message of yield* read(sql, view, portion, options)) if (message !== null) messages.push(message);
  }
  return messages;
}

type MaybeMessages = Operation<(SessionMessage | null)[]>;

function* readAsStored(
  sql: Dialect,
  { no: sessionNumber }: View,
  ranges: Segment[],
  { onCorrupt }: PathOptions,
): MaybeMessages {
  const contents = yield* column<string>(...selectRanges(sql, "m.content", ranges));
  return yield* readContents(sessionNumber, contents, (index) => idInRanges(sql, ranges, index), onCorrupt);
}

function* readWithSkills(
  sql: Dialect,
  { no: sessionNumber, skills }: View,
  ranges: Segment[],
  { onCorrupt }: PathOptions,
): MaybeMessages {
  const rows = yield* tuples<ContentTuple>(...selectRanges(sql, "m.n, m.content", ranges));
  const messages = yield* readRows(sessionNumber, rows, onCorrupt);
  return messages.map((message, index) => message && hideUnloaded(message, (rows[index] as ContentTuple)[0], skills));
}

function* idInRanges(sql: Dialect, ranges: Segment[], index: number): Operation<string> {
  return (yield* column<string>(...selectRanges(sql, "m.id", ranges)))[index] ?? "";
}

/** The rows of one page of a range, from one end of it. */
export function* readPage(
  view: View,
  range: { branch: number; lo: number; hi: number },
  page: { newestFirst: boolean; limit: number },
  onCorrupt: CorruptHandler,
): Operation<{ messages: SessionMessage[]; bytes: number[]; last: number | null; full: boolean }> {
  const rows = yield* tuples<ContentTuple>(
    `SELECT n, content FROM assistant_messages
     WHERE n BETWEEN ? AND ? AND branch = ? ORDER BY n ${page.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    range.lo,
    range.hi,
    range.branch,
    page.limit,
  );
  const last = rows.at(-1)?.[0] ?? null;
  assertOrder(last === null || (last >= range.lo && last <= range.hi));
  const messages: SessionMessage[] = [];
  const bytes: number[] = [];
  const read = yield* readRows(view.no, rows, onCorrupt);
  for (const [index, [rowId, content]] of rows.entries()) {
    const stored = read[index] ?? null;
    if (stored === null) continue;
    const message = hideUnloaded(stored, rowId, view.skills);
    messages.push(message);
    const asStored = message === stored && !isMarked(content);
    bytes.push(utf8Length(asStored ? content : JSON.stringify(message)));
  }
  return { messages, bytes, last, full: rows.length === page.limit };
}

/** See `SessionStore.recent`. */
export function* readRecent(
  sessionId: string,
  maxBytes: number,
  options: PathOptions & { minMessages: number },
): Operation<RecentHistory> {
  const newestFirst: SessionMessage[] = [];
  let total = 0;
  const view = yield* openView(sessionId, options);
  const done = (truncated: boolean): RecentHistory => ({
    messages: newestFirst.reverse(),
    truncated,
    totalContentBytes: total,
  });
  // Takes a message if there is room for it.
  const take = (message: SessionMessage, bytes: number): boolean => {
    if (newestFirst.length >= options.minMessages && total + bytes > maxBytes) return false;
    newestFirst.push(message);
    total += bytes;
    return true;
  };
  for (const span of (view?.spans ?? []).slice().reverse()) {
    if ("compaction" in span) {
      const message = summaryMessage(span.compaction);
      if (!take(message, utf8Length(JSON.stringify(message)))) return done(true);
      continue;
    }
    let hi: number = span.range.hi;
    // One more than is wanted tells that there are more.
    let limit = Math.min(Math.max(8, options.minMessages + 1), 256);
    for (let more = true; more; limit = Math.min(limit * 2, 256)) {
      const page = yield* readPage(
        view as View,
        { ...span.range, hi },
        { newestFirst: true, limit },
        options.onCorrupt,
      );
      for (const [index, message] of page.messages.entries()) {
        if (!take(message, page.bytes[index] as number)) return done(true);
      }
      hi = (page.last ?? 0) - 1;
      more = page.full;
    }
  }
  return done(false);
}

/** See `SessionStore.rowStats`. */
export function* rowStats(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<HistoryRowStat[]> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return leafId === undefined ? [] : messageNotFound(sessionId, leafId);
  const leaf = yield* resolveLeaf(sessionId, head, leafId);
  if (leaf === null) return [];
  const outside = `(SELECT sum(${sql.byteLength("p.data")}) FROM assistant_media_refs r
    JOIN assistant_media p ON p.no = r.no AND p.hash = r.hash WHERE r.no = ${head.no} AND r.n = m.n)`;
  const columns = `m.id AS id, m.role AS role, ${sql.byteLength("m.content")} + COALESCE(${outside}, 0) AS bytes`;
  const rows = yield* all<HistoryRowStat>(...selectRanges(sql, columns, yield* findSegments(head.no, leaf)));
  return rows.map(({ id, role, bytes }) => ({ id, role, bytes: Number(bytes) }));
}

/** See `SessionStore.length`. */
export function* pathLength(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<number> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return leafId === undefined ? 0 : messageNotFound(sessionId, leafId);
  const leaf = yield* resolveLeaf(sessionId, head, leafId);
  if (leaf === null) return 0;
  return yield* sumOverRanges(sql, "count(*)", yield* findSegments(head.no, leaf));
}

/** See `SessionStore.tokens`. Writes the sum down where it stays right, so that it is measured once. */
export function* visibleTokens(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<number> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return leafId === undefined ? 0 : messageNotFound(sessionId, leafId);
  const leaf = yield* resolveLeaf(sessionId, head, leafId);
  if (leaf === null) return 0;
  const known = currentTotal(head, leaf);
  if (known !== null) return known;
  const total = yield* measureTokens(sql, head.no, leaf);
  if (head.stale === null || leaf.n > head.stale) {
    yield* run("UPDATE assistant_messages SET total = ? WHERE n = ?", total, leaf.n);
  }
  return total;
}

/** Adds up the tokens of the visible history to `leaf`. */
export function* measureTokens(sql: Dialect, sessionNumber: number, leaf: MessagePosition): Operation<number> {
  const spans = yield* visibleSpans(sessionNumber, leaf);
  let total = yield* sumOverRanges(sql, "sum(m.tokens)", rangesOf(spans));
  for (const span of spans) if ("compaction" in span) total += Number(span.compaction.tokens);
  return total;
}

function* sumOverRanges(
  sql: Dialect,
  aggregate: string,
  ranges: readonly { branch: number; lo: number; hi: number }[],
): Operation<number> {
  const row = yield* first<{ value: number | null }>(
    `SELECT ${aggregate} AS value FROM ${sql.segmentTable} AS s CROSS JOIN assistant_messages m
     WHERE m.n BETWEEN s.lo AND s.hi AND m.branch = s.branch`,
    JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi])),
  );
  return Number(row?.value ?? 0);
}

const PREVIEW_LENGTH = 80;

interface TreeRow extends ContentRow {
  readonly id: string;
  readonly parent_id: string | null;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
}

/** See `SessionStore.tree`. */
export function* readTree(sessionId: string): Operation<TreeNode[]> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return [];
  const nodes: TreeNode[] = [];
  const known = new Set<string>();
  let from = floorOf(head.no);
  for (;;) {
    const rows = yield* treeRows(from, ceilingOf(head.no), "ASC", 256);
    for (const row of rows) {
      if (row.parent_id !== null && !known.has(row.parent_id)) {
        throw damaged({ sessionId, messageId: row.id }, `The parent of message "${row.id}" is not before it.`);
      }
      known.add(row.id);
      nodes.push(yield* treeNode(head.no, row));
    }
    const last = rows.at(-1);
    if (last === undefined) return nodes;
    from = rowAfter(last.n, from);
  }
}

/** See `SessionStore.treePage`. */
export function* readTreePage(
  sessionId: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Operation<TreePage> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return after === undefined ? { nodes: [], next: null } : messageNotFound(sessionId, after);
  let last = ceilingOf(head.no);
  if (after !== undefined) {
    const place = (yield* findPosition(sessionId, after)) ?? messageNotFound(sessionId, after);
    assertWithin(head, place);
    last = place.n - 1;
  }
  const rows = yield* treeRows(floorOf(head.no), last, "DESC", limit + 1);
  const nodes: TreeNode[] = [];
  for (const row of rows.slice(0, limit)) nodes.push(yield* treeNode(head.no, row));
  return { nodes, next: rows.length > limit ? (nodes.at(-1)?.id ?? null) : null };
}

function treeRows(from: number, to: number, order: "ASC" | "DESC", limit: number): Operation<TreeRow[]> {
  return all<TreeRow>(
    `SELECT n, id, parent_id, role, dated_at, created_at, content
     FROM assistant_messages WHERE n BETWEEN ? AND ? ORDER BY n ${order} LIMIT ?`,
    from,
    to,
    limit,
  );
}

function* treeNode(sessionNumber: number, row: TreeRow): Operation<TreeNode> {
  const message = yield* readContent(sessionNumber, row, () => {});
  const text = message === null ? "(cannot be read)" : searchableText(message);
  const preview = text.slice(0, PREVIEW_LENGTH).toWellFormed();
  return {
    id: row.id,
    parentId: row.parent_id,
    role: row.role,
    createdAt: row.dated_at ?? row.created_at,
    preview,
  };
}
