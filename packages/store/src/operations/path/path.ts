// A path: how it is found, what a reader sees of it, and how its rows are read.
import {
  hideUnloaded,
  isMarked,
  jsonBytes,
  NO_SKILLS,
  type SessionMessage,
  type SkillState,
  SUMMARY_ID_PREFIX,
  selectCompactions,
  summaryMessage,
  takeRecent,
  utf8Length,
} from "@stemma/model";
import type { RecentHistory } from "../../contract/store.js";
import type { CorruptHandler, Dialect, PathOptions, RecentOptions } from "../../engine/dialect.js";
import {
  all,
  column,
  first,
  type Operation,
  ownOf,
  type SessionRows,
  type SqlValue,
  tuples,
} from "../../engine/operation.js";
import { type ContentRow, type DatedTuple, dated, readContent, readContents, readRows } from "../messages/content.js";
import { assertOrder, damaged, reportDamage } from "../messages/damage.js";
import {
  assertWithin,
  ceilingOf,
  findLeaf,
  findSessionHead,
  floorOf,
  type MessagePosition,
  type SessionHead,
  sessionOf,
  skillsOf,
} from "../registry/session-head.js";
/**
 * A path is the messages from a root to a leaf. A branch is a run of messages of which each is the next one's parent; a
 * path crosses branches, and is one range of rows in each. Row ids grow along a path.
 */
export interface Segment {
  readonly branch: number;
  readonly lo: number;
  readonly hi: number;
}

// Each branch begins before those that come from it; damaged rows that say otherwise may make a circle.
const chainOf = (rows: SessionRows) => `
  WITH RECURSIVE chain (branch, lo, parent_branch, parent_n) AS (
    SELECT branch, lo, parent_branch, parent_n FROM assistant_branches WHERE ${rows.own}no = ? AND branch = ?
    UNION ALL
    SELECT b.branch, b.lo, b.parent_branch, b.parent_n
    FROM chain c JOIN assistant_branches b ON ${ownOf(rows, "b")}b.no = ? AND b.branch = c.parent_branch AND b.lo < c.lo
  )
  SELECT branch, lo, parent_branch, parent_n FROM chain`;

type BranchRow = [branch: number, lo: number, parentBranch: number | null, parentN: number | null];

/**
 * The path that ends with `leaf`, oldest range first. Errors: `CORRUPT_MESSAGE` where the rows of its branches do not fit
 * together; with `onCorrupt` that is told, and what is left of the path is given.
 */
export function* findSegments(
  rows: SessionRows,
  leaf: Pick<MessagePosition, "rowId" | "branch">,
  onCorrupt?: CorruptHandler,
): Operation<Segment[]> {
  const { sessionNumber } = rows;
  const segments: Segment[] = [];
  let branch: number | null = leaf.branch;
  let hi = leaf.rowId;
  if (branch !== 0) {
    for (const [own, lo, parentBranch, parentN] of yield* tuples<BranchRow>(
      chainOf(rows),
      ...[...rows.ids, sessionNumber, branch],
      ...[...rows.ids, sessionNumber],
    )) {
      // Row ids grow along a path.
      if (
        own !== branch ||
        lo > hi ||
        sessionOf(lo) !== sessionNumber ||
        (parentBranch === null) !== (parentN === null)
      )
        break;
      segments.push({ branch: own, lo, hi });
      branch = parentBranch;
      hi = parentN ?? 0;
    }
  }
  if ((branch !== null && branch !== 0) || (branch === 0 && hi < floorOf(sessionNumber))) {
    const details = { sessionNumber, branch };
    reportDamage(onCorrupt, "", damaged(details, `Branch ${branch} of a path is not where its rows say it is.`));
    // It may go round in a circle.
    if (segments.some((segment) => segment.branch === branch)) branch = null;
  }
  // The first branch of a session needs no row. Of one that is damaged, those of its messages that say so themselves.
  if (branch !== null) segments.push({ branch, lo: floorOf(sessionNumber), hi });
  return segments.reverse();
}

/**
 * True for a message `m` of a range `s`. A planner that joined them by the branch, as it can where two are equal, would read
 * every message of the store.
 */
const ON_SEGMENT = "m.n BETWEEN s.lo AND s.hi AND m.branch - s.branch = 0";

/**
 * The messages `m` of ranges `s`, to stand behind FROM. It binds the ranges, then the session. Where rows name their session,
 * those of a range are a query of their own: a planner would rather read all of the session, and compare.
 */
export function inRanges({ segmentTable, layout }: Dialect): string {
  if (layout === "local") return `${segmentTable} AS s CROSS JOIN assistant_messages m WHERE ${ON_SEGMENT}`;
  const rows = "assistant_messages m WHERE m.session_id = ? AND m.n BETWEEN s.lo AND s.hi";
  return `${segmentTable} AS s CROSS JOIN LATERAL (SELECT m.* FROM ${rows} OFFSET 0) AS m WHERE m.branch - s.branch = 0`;
}

/** A query of the rows of ranges that are in the order of a path, in that order; `columns` are those of `m`. */
export function selectRanges(
  sql: Dialect,
  rows: SessionRows,
  columns: string,
  ranges: readonly Segment[],
): [string, ...SqlValue[]] {
  const [only, ...others] = ranges;
  if (only !== undefined && others.length === 0) {
    const within = `${ownOf(rows, "m")}m.n BETWEEN ? AND ? AND m.branch = ? ORDER BY m.n`;
    return [`SELECT ${columns} FROM assistant_messages m WHERE ${within}`, ...rows.ids, only.lo, only.hi, only.branch];
  }
  // CROSS JOIN keeps the planner from scanning the session.
  return [
    `SELECT ${columns} FROM ${inRanges(sql)}${sql.segmentOrder}`,
    JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi])),
    ...rows.ids,
  ];
}

/** The first message of a branch in a range of rows, or in all from `lo` on. */
export function* firstOfBranch(
  rows: SessionRows,
  branch: number,
  lo: number,
  hi: number = ceilingOf(rows.sessionNumber),
): Operation<Pick<MessagePosition, "rowId" | "id"> | undefined> {
  return yield* first(
    ...rows.where(
      `SELECT n AS "rowId", id FROM assistant_messages`,
      "n BETWEEN ? AND ? AND branch = ? ORDER BY n LIMIT 1",
      lo,
      hi,
      branch,
    ),
  );
}

/** True when a row lies on a path. */
export function isOnPath(path: readonly Segment[], row: { readonly n: number; readonly branch: number }): boolean {
  return path.some(({ branch, lo, hi }) => branch === row.branch && lo <= row.n && row.n <= hi);
}

/** The part of a compaction that a path shows. */
interface SpanCompaction {
  readonly id: string;
  readonly summary: string;
  readonly from_n: number;
  readonly to_n: number;
  readonly tokens: number;
}

/** A span of a path as a reader sees it: a range of its rows, or the summary of one. */
export type PathSpan = { readonly range: Segment } | { readonly compaction: SpanCompaction };

/** The path that ends with `leaf` as a reader sees it: compactions in the place of the ranges they cover. */
export function* visibleSpans(
  rows: SessionRows,
  leaf: MessagePosition,
  onCorrupt?: CorruptHandler,
): Operation<PathSpan[]> {
  const { sessionNumber } = rows;
  const segments = yield* findSegments(rows, leaf, onCorrupt);
  const query = `SELECT c.id AS id, c.summary AS summary, c.from_n AS from_n, c.to_n AS to_n, c.tokens AS tokens,
       (SELECT m.branch FROM assistant_messages m WHERE ${ownOf(rows, "m")}m.n = c.to_n) AS branch
     FROM assistant_compactions c WHERE ${ownOf(rows, "c")}c.n BETWEEN ? AND ? ORDER BY c.n`;
  const values = [...rows.ids, ...rows.ids, floorOf(sessionNumber), ceilingOf(sessionNumber)];
  const compactions = yield* all<SpanCompaction & { branch: number | null }>(query, ...values);
  if (compactions.length === 0) return segments.map((range) => ({ range }));
  const byBranch = new Map(segments.map((segment) => [segment.branch, segment]));
  // Whoever has a compaction's end on its path has its whole range there.
  const onPath = compactions.filter(({ id, branch, from_n, to_n }) => {
    // An upgrade may have brought along one whose range is gone.
    if (from_n === null && to_n === null) return false;
    const segment = branch === null ? undefined : byBranch.get(branch);
    const endsHere = segment !== undefined && segment.lo <= to_n && to_n <= segment.hi;
    if (branch !== null && !endsHere) return false;
    if (endsHere && from_n <= to_n && segments.some(({ lo, hi }) => lo <= from_n && from_n <= hi)) return true;
    const why = `The range of summary "${id}" is not where its row says it is.`;
    reportDamage(onCorrupt, SUMMARY_ID_PREFIX + id, damaged({ sessionNumber, compactionId: id }, why));
    return false;
  });
  return cover(
    segments,
    selectCompactions(onPath.map((compaction) => ({ ...compaction, from: compaction.from_n, to: compaction.to_n }))),
  );
}

// Replaces what compactions cover; both lists are in the order of the path.
function cover(segments: readonly Segment[], compactions: readonly SpanCompaction[]): PathSpan[] {
  const spans: PathSpan[] = [];
  let next = 0;
  for (const { branch, lo, hi } of segments) {
    let start = lo;
    while (start <= hi) {
      const compaction = compactions[next];
      if (compaction === undefined || compaction.from_n > hi) {
        spans.push({ range: { branch, lo: start, hi } });
        break;
      }
      if (compaction.from_n >= start) {
        if (compaction.from_n > start) spans.push({ range: { branch, lo: start, hi: compaction.from_n - 1 } });
        spans.push({ compaction });
      }
      if (compaction.to_n > hi) break;
      start = compaction.to_n + 1;
      next += 1;
    }
  }
  return spans;
}

/** Spans in portions that are read at once: ranges of together at most `rows` row ids, or one compaction. */
export function* portionsOf(spans: readonly PathSpan[], rows: number): Generator<Segment[] | SpanCompaction> {
  let portion: Segment[] = [];
  let left = rows;
  for (const span of spans) {
    if ("compaction" in span) {
      if (portion.length > 0) yield portion;
      portion = [];
      left = rows;
      yield span.compaction;
      continue;
    }
    const { branch, hi } = span.range;
    for (let { lo } = span.range; lo <= hi; ) {
      const end = Math.min(hi, lo + left - 1);
      portion.push({ branch, lo, hi: end });
      left -= end - lo + 1;
      lo = end + 1;
      if (left > 0) continue;
      yield portion;
      portion = [];
      left = rows;
    }
  }
  if (portion.length > 0) yield portion;
}

/** Of spans those that lie between two rows of their path: ranges cut to that, summaries whole. */
export function spansBetween(spans: readonly PathSpan[], from: number, to: number): PathSpan[] {
  return spans.flatMap((span): PathSpan[] => {
    if ("compaction" in span) return span.compaction.to_n >= from && span.compaction.from_n <= to ? [span] : [];
    const range = { ...span.range, lo: Math.max(span.range.lo, from), hi: Math.min(span.range.hi, to) };
    return range.lo <= range.hi ? [{ range }] : [];
  });
}

/** The ranges among spans. */
export function rangesOf(spans: readonly PathSpan[]): Segment[] {
  return spans.flatMap((span) => ("range" in span ? [span.range] : []));
}

/** A session's visible path, as its readers need it; null for a session without an active leaf. */
export interface View {
  readonly rows: SessionRows;
  /** As in `SessionRow`. */
  readonly registered: number;
  readonly leaf: MessagePosition;
  readonly spans: readonly PathSpan[];
  readonly skills: SkillState;
}

/** Finds the path to `leafId`, or to the active leaf: what is visible of it, or all of it. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
export function* openView(
  sql: Dialect,
  sessionId: string,
  { leafId, onCorrupt, summaries = true }: PathOptions,
): Operation<View | null> {
  const found = yield* findLeaf(sql, sessionId, leafId, onCorrupt);
  if (found === null) return null;
  const { head, leaf } = found;
  const { rows, registered } = head;
  const spans = summaries
    ? yield* visibleSpans(rows, leaf, onCorrupt)
    : (yield* findSegments(rows, leaf, onCorrupt)).map((range) => ({ range }));
  return { rows, registered, leaf, spans, skills: summaries ? skillsOf(head, onCorrupt) : NO_SKILLS };
}

// What was read is decoded before more is read: text that is kept for long costs more to clear away than to read.
const ROWS_AT_ONCE = 1024;

/** The messages that a view shows, oldest first. */
export function* readView(sql: Dialect, view: View, options: PathOptions): Operation<SessionMessage[]> {
  const messages: SessionMessage[] = [];
  const isPlain = view.skills.unloaded.length === 0 && options.createdAt !== true;
  const read = isPlain ? readAsStored : readRowsAsShown;
  for (const portion of portionsOf(view.spans, ROWS_AT_ONCE)) {
    if (!Array.isArray(portion)) messages.push(summaryMessage(portion));
    else for (const message of yield* read(sql, view, portion, options)) if (message !== null) messages.push(message);
  }
  return messages;
}

type MaybeMessages = Operation<(SessionMessage | null)[]>;

function* readAsStored(sql: Dialect, { rows }: View, ranges: Segment[], { onCorrupt }: PathOptions): MaybeMessages {
  const contents = yield* column<string>(...selectRanges(sql, rows, "m.content", ranges));
  return yield* readContents(rows, contents, (index) => idInRanges(sql, rows, ranges, index), onCorrupt);
}

// With what only the row tells: its number, which says whether a skill was unloaded, and its time.
function* readRowsAsShown(
  sql: Dialect,
  { rows, skills }: View,
  ranges: Segment[],
  { onCorrupt, createdAt = false }: PathOptions,
): MaybeMessages {
  const found = yield* tuples<DatedTuple>(...selectRanges(sql, rows, "m.n, m.content, m.created_at", ranges));
  const messages = yield* readRows(
    rows,
    found.map(([n, content]) => [n, content]),
    onCorrupt,
  );
  return messages.map((message, index) => {
    const [n, , storedAt] = found[index] as DatedTuple;
    const shown = message && hideUnloaded(message, n, skills);
    return shown !== null && createdAt ? dated(shown, storedAt) : shown;
  });
}

function* idInRanges(sql: Dialect, rows: SessionRows, ranges: Segment[], index: number): Operation<string> {
  return (yield* column<string>(...selectRanges(sql, rows, "m.id", ranges)))[index] ?? "";
}

const STILL_THERE = "AND EXISTS (SELECT 1 FROM assistant_sessions WHERE id = ? AND no = ? AND registered = ?)";

/** Messages of a range, in the order of reading. */
interface ViewPage {
  readonly messages: SessionMessage[];
  /** As each row has it; null for a message that is shown otherwise. */
  readonly contents: readonly (string | null)[];
  readonly bytes: readonly number[];
  /** The last row that was read. */
  readonly last: number | null;
  readonly full: boolean;
}

/**
 * The rows of one page of a range, from one end of it. A page that is read `later` than the view was opened, in another
 * transaction, has none of a session that is gone since then, whoever has its number.
 */
export function* readViewPage(
  view: View,
  range: { branch: number; lo: number; hi: number },
  page: { newestFirst: boolean; limit: number; later: boolean },
  { onCorrupt, createdAt = false }: Pick<PathOptions, "onCorrupt" | "createdAt">,
): Operation<ViewPage> {
  const [stillThere, session] = page.later
    ? [STILL_THERE, [view.rows.id, view.rows.sessionNumber, view.registered]]
    : ["", []];
  const { branch, lo, hi } = range;
  const rows = yield* tuples<DatedTuple>(
    ...view.rows.where(
      "SELECT n, content, created_at FROM assistant_messages",
      `n BETWEEN ? AND ? AND branch = ? ${stillThere}
     ORDER BY n ${page.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
      lo,
      hi,
      branch,
      ...session,
      page.limit,
    ),
  );
  const last = rows.at(-1)?.[0] ?? null;
  assertOrder(last === null || (last >= lo && last <= hi));
  const messages: SessionMessage[] = [];
  const contents: (string | null)[] = [];
  const bytes: number[] = [];
  const read = yield* readRows(
    view.rows,
    rows.map(([n, content]) => [n, content]),
    onCorrupt,
  );
  for (const [index, [rowId, content, storedAt]] of rows.entries()) {
    const stored = read[index] ?? null;
    if (stored === null) continue;
    const message = hideUnloaded(stored, rowId, view.skills);
    const shown = createdAt ? dated(message, storedAt) : message;
    messages.push(shown);
    contents.push(shown === stored ? content : null);
    bytes.push(message === stored ? storedBytes(stored, content) : jsonBytes(message));
  }
  return { messages, contents, bytes, last, full: rows.length === page.limit };
}

/** How many bytes a message has as JSON; `content` is how it is stored. */
export const storedBytes = (message: SessionMessage, content: string): number =>
  isMarked(content) ? jsonBytes(message) : utf8Length(content);

/** When a message was stored; null when it is not there. */
export function* readTime(sessionId: string, id: string): Operation<string | null> {
  const query = "SELECT created_at FROM assistant_messages WHERE session_id = ? AND id = ?";
  const row = yield* first<{ created_at: string }>(query, sessionId, id);
  return row?.created_at ?? null;
}

/** The operation behind `SessionStore.message`. */
export function* readMessage(
  sql: Dialect,
  sessionId: string,
  id: string,
  { createdAt = false }: Pick<PathOptions, "createdAt"> = {},
): Operation<SessionMessage | null> {
  // A range of one id, in order, takes the index of ids also by a plan from when the table was empty, which some clients keep.
  const query =
    "SELECT n, content, created_at FROM assistant_messages WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT 1";
  const row = yield* first<ContentRow & { created_at: string }>(query, sessionId, id, id);
  if (row === undefined) return null;
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, { rowId: row.n, id });
  const message = yield* readContent((head as SessionHead).rows, row);
  // Of a row that was written without an id, an upgrade made one up.
  if (message !== null && message.id !== id && !id.startsWith(MADE_UP_ID)) {
    throw damaged({ messageId: id }, `The row of message "${id}" holds the message "${message.id}".`);
  }
  return message !== null && createdAt ? dated(message, row.created_at) : message;
}

/** The operation behind `SessionStore.leaf`. */
export function* readLeaf(sql: Dialect, sessionId: string): Operation<SessionMessage | null> {
  const found = yield* findLeaf(sql, sessionId, undefined);
  return found === null ? null : yield* readMessage(sql, sessionId, found.leaf.id);
}

/** Begins the ids that an upgrade gave to rows without one. */
export const MADE_UP_ID = "agents-row-";

/** The operation behind `SessionStore.path`. */
export function* readPath(sql: Dialect, sessionId: string, options: PathOptions): Operation<SessionMessage[]> {
  const view = yield* openView(sql, sessionId, options);
  return view === null ? [] : yield* readView(sql, view, options);
}

/** The operation behind `SessionStore.recent`. */
export function* readRecent(sql: Dialect, sessionId: string, options: RecentOptions): Operation<RecentHistory> {
  const { take, done } = takeRecent(options.maxBytes, options.minMessages);
  const view = yield* openView(sql, sessionId, options);
  for (const span of (view?.spans ?? []).slice().reverse()) {
    if ("compaction" in span) {
      const message = summaryMessage(span.compaction);
      if (!take(message, jsonBytes(message))) return done(true);
      continue;
    }
    let hi: number = span.range.hi;
    // One more than is wanted tells that there are more.
    let limit = Math.min(Math.max(8, options.minMessages + 1), 256);
    for (let more = true; more; limit = Math.min(limit * 2, 256)) {
      const wanted = { newestFirst: true, limit, later: false };
      const page = yield* readViewPage(view as View, { ...span.range, hi }, wanted, options);
      for (const [index, message] of page.messages.entries()) {
        if (!take(message, page.bytes[index] as number)) return done(true);
      }
      hi = (page.last ?? 0) - 1;
      more = page.full;
    }
  }
  return done(false);
}
