import {
  hideUnloaded,
  isMarked,
  jsonBytes,
  NO_SKILLS,
  type SessionMessage,
  type SkillState,
  summaryMessage,
  utf8Length,
} from "@stemma/model";
import type { Dialect, PathOptions } from "../../engine/dialect.js";
import { column, type Operation, tuples } from "../../engine/operation.js";
import type { SessionRows } from "../../engine/session-rows.js";
import { skillsOf } from "../memory/skill-state.js";
import { type DatedTuple, dated, readContents, readRows } from "../messages/content.js";
import { assertOrder } from "../messages/damage.js";
import type { MessagePosition } from "../messages/message-position.js";
import { findSegments, type PathSpan, portionsOf, type Segment, selectRanges, visibleSpans } from "./path.js";
import { findLeaf } from "./tree.js";
/** What a reader of a session's visible path needs; null for a session without an active leaf. */
export interface View {
  readonly rows: SessionRows;
  /** See `SessionRow`. */
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

/**
 * The rows of one page of a range, from one end of it. A page that is read `later` than the view was opened, in another
 * transaction, has none of a session that is gone since then, whoever has its number.
 */
export function* readViewPage(
  view: View,
  range: { branch: number; lo: number; hi: number },
  page: { newestFirst: boolean; limit: number; later: boolean },
  { onCorrupt, createdAt = false }: Pick<PathOptions, "onCorrupt" | "createdAt">,
): Operation<{ messages: SessionMessage[]; bytes: number[]; last: number | null; full: boolean }> {
  const [stillThere, session] = page.later
    ? [STILL_THERE, [view.rows.id, view.rows.sessionNumber, view.registered]]
    : ["", []];
  const query = `SELECT n, content, created_at FROM assistant_messages WHERE ${view.rows.own}n BETWEEN ? AND ? AND branch = ? ${stillThere}
     ORDER BY n ${page.newestFirst ? "DESC" : "ASC"} LIMIT ?`;
  const { branch, lo, hi } = range;
  const rows = yield* tuples<DatedTuple>(query, ...view.rows.ids, lo, hi, branch, ...session, page.limit);
  const last = rows.at(-1)?.[0] ?? null;
  assertOrder(last === null || (last >= lo && last <= hi));
  const messages: SessionMessage[] = [];
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
    messages.push(createdAt ? dated(message, storedAt) : message);
    bytes.push(message === stored ? storedBytes(stored, content) : jsonBytes(message));
  }
  return { messages, bytes, last, full: rows.length === page.limit };
}

/** How many bytes a message has as JSON; `content` is how it is stored. */
export const storedBytes = (message: SessionMessage, content: string): number =>
  isMarked(content) ? jsonBytes(message) : utf8Length(content);
