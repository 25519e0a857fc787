import { isMarked } from "../../model/codec.js";
import { summaryMessage } from "../../model/compactions.js";
import type { SessionMessage } from "../../model/message.js";
import { jsonBytes, takeRecent } from "../../model/recent-messages.js";
import { hideUnloaded } from "../../model/skill-view.js";
import { NO_SKILLS, type SkillState } from "../../model/skills.js";
import { utf8Length } from "../../model/text.js";
import type { RecentHistory } from "../contract.js";
import type { CorruptHandler, Dialect, PathOptions, RecentOptions } from "../engine/dialect.js";
import { column, first, type Operation, tuples } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { type ContentRow, type ContentTuple, readContent, readContents, readRows } from "./content.js";
import { assertOrder, damaged } from "./damage.js";
import { findSegments, type PathSpan, portionsOf, type Segment, selectRanges, visibleSpans } from "./path.js";
import { assertWithin, findLeaf, findSessionHead, type MessagePosition, type SessionHead } from "./session-head.js";
import { skillsOf } from "./skill-state.js";

/** When a message was stored; null when it is not there. */
export function* readTime(sessionId: string, id: string): Operation<string | null> {
  const row = yield* first<{ created_at: string }>(
    "SELECT created_at FROM assistant_messages WHERE session_id = ? AND id = ?",
    sessionId,
    id,
  );
  return row?.created_at ?? null;
}

/** See `SessionStore.message`. */
export function* readMessage(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage | null> {
  // A range of one id, in order, takes the index of ids also by a plan from when the table was empty, which some clients keep.
  const row = yield* first<ContentRow>(
    "SELECT n, content FROM assistant_messages WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT 1",
    sessionId,
    id,
    id,
  );
  if (row === undefined) return null;
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, { rowId: row.n, id });
  const message = yield* readContent((head as SessionHead).rows, row);
  // Of a row that was written without an id, an upgrade made one up.
  if (message !== null && message.id !== id && !id.startsWith(MADE_UP_ID)) {
    throw damaged({ messageId: id }, `The row of message "${id}" holds the message "${message.id}".`);
  }
  return message;
}

/** See `SessionStore.leaf`. */
export function* readLeaf(sql: Dialect, sessionId: string): Operation<SessionMessage | null> {
  const found = yield* findLeaf(sql, sessionId, undefined);
  return found === null ? null : yield* readMessage(sql, sessionId, found.leaf.id);
}

/** What a reader of a session's visible path needs; null for a session without an active leaf. */
export interface View {
  readonly rows: SessionRows;
  /** See `SessionRow`. */
  readonly registered: number | null;
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

/** Begins the ids that an upgrade gave to rows without one. */
export const MADE_UP_ID = "agents-row-";

// What was read is decoded before more is read: text that is kept for long costs more to clear away than to read.
const ROWS_AT_ONCE = 1024;

/** See `SessionStore.path`. */
export function* readPath(sql: Dialect, sessionId: string, options: PathOptions): Operation<SessionMessage[]> {
  const view = yield* openView(sql, sessionId, options);
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

function* readAsStored(sql: Dialect, { rows }: View, ranges: Segment[], { onCorrupt }: PathOptions): MaybeMessages {
  const contents = yield* column<string>(...selectRanges(sql, rows, "m.content", ranges));
  return yield* readContents(rows, contents, (index) => idInRanges(sql, rows, ranges, index), onCorrupt);
}

function* readWithSkills(
  sql: Dialect,
  { rows, skills }: View,
  ranges: Segment[],
  { onCorrupt }: PathOptions,
): MaybeMessages {
  const contents = yield* tuples<ContentTuple>(...selectRanges(sql, rows, "m.n, m.content", ranges));
  const messages = yield* readRows(rows, contents, onCorrupt);
  return messages.map(
    (message, index) => message && hideUnloaded(message, (contents[index] as ContentTuple)[0], skills),
  );
}

function* idInRanges(sql: Dialect, rows: SessionRows, ranges: Segment[], index: number): Operation<string> {
  return (yield* column<string>(...selectRanges(sql, rows, "m.id", ranges)))[index] ?? "";
}

const STILL_THERE =
  "AND EXISTS (SELECT 1 FROM assistant_sessions WHERE id = ? AND no = ? AND coalesce(registered, 0) = ?)";

/**
 * The rows of one page of a range, from one end of it. A page that is read `later` than the view was opened, in another
 * transaction, has none of a session that is gone since then, whoever has its number.
 */
export function* readPage(
  view: View,
  range: { branch: number; lo: number; hi: number },
  page: { newestFirst: boolean; limit: number; later: boolean },
  onCorrupt: CorruptHandler,
): Operation<{ messages: SessionMessage[]; bytes: number[]; last: number | null; full: boolean }> {
  const [stillThere, session] = page.later
    ? [STILL_THERE, [view.rows.id, view.rows.sessionNumber, view.registered ?? 0]]
    : ["", []];
  const rows = yield* tuples<ContentTuple>(
    `SELECT n, content FROM assistant_messages WHERE ${view.rows.own}n BETWEEN ? AND ? AND branch = ? ${stillThere}
     ORDER BY n ${page.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    ...view.rows.ids,
    range.lo,
    range.hi,
    range.branch,
    ...session,
    page.limit,
  );
  const last = rows.at(-1)?.[0] ?? null;
  assertOrder(last === null || (last >= range.lo && last <= range.hi));
  const messages: SessionMessage[] = [];
  const bytes: number[] = [];
  const read = yield* readRows(view.rows, rows, onCorrupt);
  for (const [index, [rowId, content]] of rows.entries()) {
    const stored = read[index] ?? null;
    if (stored === null) continue;
    const message = hideUnloaded(stored, rowId, view.skills);
    messages.push(message);
    bytes.push(message === stored ? storedBytes(stored, content) : jsonBytes(message));
  }
  return { messages, bytes, last, full: rows.length === page.limit };
}

/** How many bytes a message has as JSON; `content` is how it is stored. */
export const storedBytes = (message: SessionMessage, content: string): number =>
  isMarked(content) ? jsonBytes(message) : utf8Length(content);

/** See `SessionStore.recent`. */
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
      const page = yield* readPage(
        view as View,
        { ...span.range, hi },
        { newestFirst: true, limit, later: false },
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
