import type { EncodedMessage } from "@stemma/model";
import { documentOf } from "@stemma/model";
import type { Dialect, IndexedDocument, SearchDialect } from "../../engine/dialect.js";
import {
  column,
  first,
  type Operation,
  OR_KEEP,
  oneNumber,
  rowsOf,
  run,
  runEach,
  type SessionRows,
  type SqlValue,
  tuples,
} from "../../engine/operation.js";
import type { CatchUp } from "../../engine/runner.js";
import { type ContentTuple, readRows } from "../messages/content.js";
import { assertOrder } from "../messages/damage.js";
import { ceilingOf, floorOf, sessionOf } from "../registry/session-head.js";
/** How many rows, and characters of their contents, are in memory at once. */
export const ROWS = 500;
export const CHARACTERS = 2_000_000;

/** How many documents' terms are in memory at once. */
const ADDED_AT_ONCE = 100;

/** Indexes the messages of a session, of which none is indexed yet: the index itself keeps no text to copy. */
export function* indexSession(sql: Dialect, search: SearchDialect, rows: SessionRows): Operation<void> {
  let after = floorOf(rows.sessionNumber) - 1;
  for (;;) {
    const last = yield* endOfRows(sql, rows, after);
    if (last === null) return;
    const documents: IndexedDocument[] = [];
    for (const row of yield* tuples<ContentTuple>(
      ...rows.where("SELECT n, content FROM assistant_messages", "n > ? AND n <= ? ORDER BY n", after, last),
    )) {
      documents.push(yield* readDocument(search, rows, row));
    }
    yield* addMessages(search, documents);
    after = last;
  }
}

// The last of so many rows of a session behind `after` as are read at once; null when there are none. One sum of their sizes
// takes a quarter of the time that reading them one by one does.
function* endOfRows(sql: Dialect, rows: SessionRows, after: number): Operation<number | null> {
  for (let limit = ROWS; ; limit = Math.ceil(limit / 8)) {
    const page = yield* first<{ last: number | null; size: number | null }>(
      ...rows.where(
        `SELECT max(n) AS last, sum(${sql.byteLength("content")}) AS size FROM (
         SELECT n, content FROM assistant_messages`,
        `n > ? AND n <= ? ORDER BY n LIMIT ${limit}) AS page`,
        after,
        ceilingOf(rows.sessionNumber),
      ),
    );
    if (limit > 1 && Number(page?.size) > CHARACTERS) continue;
    const last = page?.last ?? null;
    assertOrder(last === null || last > after);
    return last;
  }
}

/** Indexes messages that are not indexed yet. */
export function* addMessages(search: SearchDialect, documents: readonly IndexedDocument[]): Operation<void> {
  for (let start = 0; start < documents.length; start += ADDED_AT_ONCE) {
    yield* search.add("messages", documents.slice(start, start + ADDED_AT_ONCE));
  }
}

/** The document of a row, "" where it cannot be read. One row at a time: what stands outside may be a thousand times as large. */
export function* readDocument(
  { tools }: SearchDialect,
  session: SessionRows,
  row: ContentTuple,
): Operation<IndexedDocument> {
  const [message] = yield* readRows(session, [row], () => {});
  return { sessionId: session.id, rowId: row[0], document: message == null ? "" : documentOf(message, tools) };
}

/** Where a look at the messages of all sessions is: behind this row. They come by session where rows name theirs, else by number. */
export interface ReadTo {
  readonly rowId: number;
  /** "" where rows do not name their session. */
  readonly sessionId: string;
}

/** A query of messages `m` of all sessions behind a row, up to another one or all, in order. */
export function messagesBetween(
  { layout }: Dialect,
  columns: string,
  after: ReadTo,
  to: ReadTo | null,
): [sql: string, ...values: SqlValue[]] {
  const bounds: readonly (readonly [string, ReadTo])[] = [[">", after], ...(to === null ? [] : [["<=", to] as const])];
  const [key, mark, order] =
    layout !== "local" ? ["(m.session_id, m.n)", "(?, ?)", "m.session_id, m.n"] : ["m.n", "?", "m.n"];
  const rows = bounds.map(([is]) => `${key} ${is} ${mark}`).join(" AND ");
  const values = bounds.flatMap(([, { rowId, sessionId }]) => (layout !== "local" ? [sessionId, rowId] : [rowId]));
  return [`SELECT ${columns} FROM assistant_messages m WHERE ${rows} ORDER BY ${order}`, ...values];
}

// A full-text index writes several pages for one message, and few more for many. So new messages are only noted, in the
// transaction that writes them. They are indexed together when there are enough of them, or before somebody searches.

/** Fewer messages of the store than this are not indexed. */
const ENOUGH = 128;
/** A message with more characters, or with media, is indexed by who writes it: nobody else is to read it for that. */
const LONG = 32_000;

/** True for a message that takes long to read again. See `IndexedDocument`. */
export const isLarge = ({ content, media }: EncodedMessage) => content.length > LONG || media.length > 0;

/** Indexes messages that were written, or notes them to be indexed later. */
export function* indexWritten(
  sql: Dialect,
  search: SearchDialect,
  written: readonly IndexedDocument[],
): Operation<void> {
  if (!search.indexesLater) return yield* addMessages(search, written);
  const noted = yield* oneNumber("SELECT count(*) AS count FROM assistant_unindexed");
  if (noted + written.length >= ENOUGH || written.some(({ isLarge }) => isLarge)) {
    if (noted > 0) yield* indexNoted(sql, search);
    return yield* addMessages(search, written);
  }
  const rows = written.flatMap(({ rowId, document }) => (document === "" ? [] : [[rowId]]));
  yield* runEach(`INSERT INTO assistant_unindexed (n) VALUES (?)${OR_KEEP}`, rows);
}

/** Indexes a message anew, or notes it, after a change. */
export function* indexChanged(sql: Dialect, search: SearchDialect, changed: IndexedDocument): Operation<void> {
  const { sessionId, rowId } = changed;
  const isNoted = "SELECT 1 FROM assistant_unindexed WHERE n = ?";
  if (sql.layout === "local" && !changed.isLarge && (yield* first(isNoted, rowId)) !== undefined) return;
  yield* search.remove("messages", sessionId, rowId, rowId);
  if (changed.document !== "") yield* indexWritten(sql, search, [changed]);
}

/** The write that comes before a search; undefined where the index never lags. */
export function catchUp(sql: Dialect): CatchUp | undefined {
  const { search } = sql;
  if (search === null || sql.layout !== "local") return undefined;
  return { isNeeded: isAnyNoted, work: () => indexNoted(sql, search) };
}

/** The rows of messages that are not indexed yet. */
export function* unindexedRows({ search, layout }: Dialect): Operation<ReadonlySet<unknown>> {
  return new Set(search !== null && layout === "local" ? yield* column("SELECT n FROM assistant_unindexed") : []);
}

function* isAnyNoted(): Operation<boolean> {
  return (yield* first("SELECT 1 FROM assistant_unindexed LIMIT 1")) !== undefined;
}

function* indexNoted(sql: Dialect, search: SearchDialect): Operation<void> {
  const rows = yield* tuples<readonly [n: number, content: string, sessionId: string]>(
    "SELECT m.n, m.content, m.session_id FROM assistant_unindexed u CROSS JOIN assistant_messages m ON m.n = u.n ORDER BY u.n",
  );
  yield* run("DELETE FROM assistant_unindexed");
  const documents: IndexedDocument[] = [];
  for (const [rowId, content, sessionId] of rows) {
    documents.push(yield* readDocument(search, rowsOf(sql, sessionId, sessionOf(rowId)), [rowId, content]));
  }
  yield* addMessages(search, documents);
}
