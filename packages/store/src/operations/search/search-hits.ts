import type { SearchQuery, SessionMessage } from "@stemma/model";
import {
  documentOf,
  explainResult,
  holdsMatch,
  keyOf,
  markedSnippet,
  type Ranked,
  type RowAddress,
  searchableText,
  searchedText,
  senderName,
} from "@stemma/model";
import type { FoundMessage, SearchHit, SearchRequest } from "../../contract/store.js";
import type { Dialect, FoundRow } from "../../engine/dialect.js";
import {
  all,
  type Condition,
  idsOf,
  type Operation,
  ownOf,
  rowsOf,
  type SessionRows,
  sameSession,
} from "../../engine/operation.js";
import { readContent } from "../messages/content.js";
import { findSegments, isOnPath, type Segment } from "../path/path.js";
import { activeLeaf, ceilingOf, findSessionHead, floorOf, SPAN, sessionOf } from "../registry/session-head.js";
import { findExchanges } from "./exchanges.js";

/** The row of a message that was found, without what covers it. */
export type HitRow = Omit<FoundRow, "covering" | "covered_by">;

type Named = Pick<HitRow, "n" | "session_id" | "id">;

/** A session of the rows that were found: by its id where rows name it, else by its number. */
const sessionKey = ({ layout }: Dialect, sessionId: string, rowId: number): number | string =>
  layout !== "local" ? sessionId : sessionOf(rowId);

/** The rows of its session. */
const sessionRows = (sql: Dialect, { n: rowId, session_id }: HitRow) => rowsOf(sql, session_id, sessionOf(rowId));

/** The columns that are read of it. */
const HIT_COLUMNS = "n, id, session_id, branch, role, dated_at, created_at, content";

/** The message of such a row; null for one that cannot be read. */
const readMessage = (sql: Dialect, row: HitRow): Operation<SessionMessage | null> =>
  readContent(sessionRows(sql, row), row, () => {});

/** Shows a message. One that cannot be read has no text. */
function shown(row: HitRow, message: SessionMessage | null, content = textOf(message)): FoundMessage {
  const name = message === null ? "" : senderName(message);
  const { id, role } = row;
  const createdAt = row.dated_at ?? row.created_at;
  return name === "" ? { id, role, content, createdAt } : { id, role, name, content, createdAt };
}

const textOf = (message: SessionMessage | null): string => (message === null ? "" : searchableText(message));

/** The text of a message; with that of its tool calls where what is looked for stands only there. */
function matchedText({ search }: Dialect, message: SessionMessage | null, query: SearchQuery): string {
  const text = textOf(message);
  if (message === null || search?.tools !== true || holdsMatch(text, query)) return text;
  const whole = searchedText(message, true);
  return holdsMatch(whole, query) ? whole : text;
}

/** Reads no damage: what was found is found, also where the rows around it are damaged. */
const passOver = (): void => {};

const COLUMNS_OF_M = HIT_COLUMNS.replace(/\w+/g, "m.$& AS $&");

/** The rows of what was found: see `SearchDialect.hits`. */
export function* findHits(
  sql: Dialect,
  ranked: readonly Ranked[],
  sessionId: string | undefined,
  since?: number | null,
): Operation<readonly FoundRow[]> {
  const read = sql.search?.hits;
  const found = read === undefined ? null : yield* read(ranked, since);
  if (found !== null) return found;
  const rows = yield* findRows<FoundRow>(sql, ranked, `${COLUMNS_OF_M}, ${covering(sql)}`, sessionId);
  return [...rows.values()];
}

/** Shows what was found, in these rows, with what stands around it; `path` is the one that the search was narrowed to. */
export function* readHits(
  sql: Dialect,
  query: SearchQuery,
  ranked: readonly Ranked[],
  found: readonly FoundRow[],
  request: SearchRequest,
  path: readonly Segment[] | null,
): Operation<SearchHit[]> {
  const rows = new Map(found.map((row) => [rowKey(sql, row), row]));
  const covered = [...rows.values()].filter((row) => row.covering > 0);
  const compactions = yield* compactionsOver(sql, covered, request.sessionId);
  const paths = pathsThrough(sql, path);
  const namesOf = (addresses: readonly RowAddress[]) =>
    findRows<Named>(sql, addresses, "m.n AS n, m.session_id AS session_id, m.id AS id", request.sessionId);
  const exchanges = request.exchange ? yield* findExchanges(sql, [...rows.values()], paths, namesOf) : null;
  const hits: SearchHit[] = [];
  for (const each of ranked) {
    const { score, reasons } = each;
    const row = rows.get(keyOf(each));
    if (row === undefined) continue;
    const stored = yield* readMessage(sql, row);
    const message = shown(row, stored, matchedText(sql, stored, query));
    // Not spread: V8 takes a microsecond for what stands behind a spread.
    const hit: SearchHit = Object.assign(message, {
      sessionId: row.session_id,
      score,
      snippet: markedSnippet(message.content, query),
      coveredBy: row.covering > 0 ? (compactions.get(row) ?? []) : coveredBy(row),
    });
    if (request.context) hit.context = yield* contextOf(sql, yield* paths(row), row, request.context);
    const exchange = exchanges?.get(row);
    if (exchange !== undefined) hit.exchange = exchange;
    if (reasons !== undefined) {
      const document = stored === null ? "" : documentOf(stored, sql.search?.tools === true);
      hit.explanation = explainResult(query, document, reasons);
    }
    hits.push(hit);
  }
  return hits;
}

const coveredBy = ({ covered_by }: FoundRow): string[] => (covered_by == null ? [] : JSON.parse(covered_by));

/**
 * How many compactions have a row `m` in their range, of its session: nearly always none. Where rows are spread over servers,
 * they are looked for in any case: a statement that asked for them as well would not be one of the server that has the row.
 */
const covering = (sql: Dialect): string =>
  sql.layout === "spread"
    ? "1 AS covering"
    : `(SELECT count(*) FROM assistant_compactions c
  WHERE ${sameSession(sql, "c", "m")}c.n BETWEEN m.n - m.n % ${SPAN} AND m.n - m.n % ${SPAN} + ${SPAN - 1}
  AND m.n BETWEEN c.from_n AND c.to_n) AS covering`;

interface CompactionEnd {
  readonly id: string;
  readonly session_id: string;
  readonly from_n: number;
  readonly to_n: number;
  /** The branch that it ends on; null where its end is gone. */
  readonly branch: number | null;
}

/** The ids of the compactions whose range holds each of the rows, newest first. */
function* compactionsOver(
  sql: Dialect,
  rows: readonly HitRow[],
  sessionId: string | undefined,
): Operation<Map<HitRow, string[]>> {
  const covered = new Map<HitRow, string[]>();
  const keyOfRow = (row: HitRow) => sessionKey(sql, row.session_id, row.n);
  const sessions = new Map(rows.map((row) => [keyOfRow(row), sessionRows(sql, row)]));
  if (sessions.size === 0) return covered;
  const { condition, values } = inSession(sql, "c", sessionId);
  const [own, ids] =
    typeof sessionId === "string" ? [ownOf(sql, "m"), idsOf(sql, sessionId)] : [sameSession(sql, "m", "c"), []];
  const compactions = yield* all<CompactionEnd>(
    `SELECT c.id AS id, c.session_id AS session_id, c.from_n AS from_n, c.to_n AS to_n,
       (SELECT m.branch FROM assistant_messages m WHERE ${own}m.n = c.to_n) AS branch
     FROM ${sql.segmentTable} AS s CROSS JOIN assistant_compactions c
     WHERE ${condition}c.n BETWEEN s.lo AND s.hi ORDER BY c.n DESC`,
    ...ids,
    JSON.stringify(
      [...sessions.values()].map(({ id, sessionNumber }) => [0, floorOf(sessionNumber), ceilingOf(sessionNumber), id]),
    ),
    ...values,
  );
  for (const { id, session_id, from_n, to_n, branch } of compactions) {
    const key = sessionKey(sql, session_id, to_n);
    const within = rows.filter((row) => keyOfRow(row) === key && from_n <= row.n && row.n <= to_n);
    const session = sessions.get(key);
    // Where the end is gone, or stands in another session, so is the path.
    if (within.length === 0 || branch === null || session === undefined) continue;
    const path = yield* findSegments(session, { rowId: to_n, branch }, passOver);
    for (const row of within) {
      if (isOnPath(path, row)) covered.set(row, [...(covered.get(row) ?? []), id]);
    }
  }
  return covered;
}

/**
 * The path on which a row's neighbours are looked for: the one that was asked for, else the active one where the row lies
 * on that, else the row's own branch to its end.
 */
function pathsThrough(sql: Dialect, asked: readonly Segment[] | null): (row: HitRow) => Operation<readonly Segment[]> {
  const active = new Map<number | string, readonly Segment[]>();
  return function* (row) {
    if (asked !== null) return asked;
    const session = sessionRows(sql, row);
    const key = sessionKey(sql, row.session_id, row.n);
    let path = active.get(key);
    if (path === undefined) {
      const head = yield* findSessionHead(sql, row.session_id);
      const leaf = head === null ? null : yield* activeLeaf(head, passOver);
      path = leaf === null ? [] : yield* findSegments(session, leaf, passOver);
      active.set(key, path);
    }
    return isOnPath(path, row)
      ? path
      : yield* findSegments(session, { rowId: ceilingOf(session.sessionNumber), branch: row.branch }, passOver);
  };
}

/** The messages around a row on a path, `size` in each direction. */
function* contextOf(
  sql: Dialect,
  path: readonly Segment[],
  row: HitRow,
  size: number,
): Operation<NonNullable<SearchHit["context"]>> {
  const { n: rowId } = row;
  const near = { session: sessionRows(sql, row), size };
  const before = yield* neighbours(sql, near, [...path].reverse(), "DESC", ({ lo, hi }) => [
    lo,
    Math.min(hi, rowId - 1),
  ]);
  const after = yield* neighbours(sql, near, path, "ASC", ({ lo, hi }) => [Math.max(lo, rowId + 1), hi]);
  return { before: before.reverse(), after };
}

function* neighbours(
  sql: Dialect,
  { session, size }: { readonly session: SessionRows; readonly size: number },
  segments: readonly Segment[],
  order: "ASC" | "DESC",
  part: (segment: Segment) => [lo: number, hi: number],
): Operation<FoundMessage[]> {
  const messages: FoundMessage[] = [];
  for (const segment of segments) {
    const [lo, hi] = part(segment);
    if (lo > hi || messages.length === size) continue;
    const rows = yield* all<HitRow>(
      ...session.where(
        `SELECT ${HIT_COLUMNS} FROM assistant_messages`,
        `n BETWEEN ? AND ? AND branch = ? ORDER BY n ${order} LIMIT ?`,
        lo,
        hi,
        segment.branch,
        size - messages.length,
      ),
    );
    for (const row of rows) messages.push(shown(row, yield* readMessage(sql, row)));
  }
  return messages;
}

/**
 * Begins a condition on rows of the session that is given, or of that which the address `s` names. What it binds comes behind
 * the addresses.
 */
function inSession({ layout }: Dialect, row: string, sessionId: string | null | undefined): Condition {
  if (layout === "local") return { condition: "", values: [] };
  if (typeof sessionId === "string") return { condition: `${row}.session_id = ? AND `, values: [sessionId] };
  return { condition: `${row}.session_id = s.owner AND `, values: [] };
}

/** Rows of messages by what tells each from all others, all of one session where it is given; `columns` are those of `m`. */
export function* findRows<R extends { readonly n: number; readonly session_id: string }>(
  sql: Dialect,
  addresses: readonly RowAddress[],
  columns: string,
  sessionId: string | null | undefined,
): Operation<Map<number | string, R>> {
  if (addresses.length === 0) return new Map();
  const { condition, values } = inSession(sql, "m", sessionId);
  // Spread rows are joined with: a server looks for each address among its own.
  const rows =
    sql.layout === "spread"
      ? `JOIN assistant_messages m ON ${condition}m.n = s.lo`
      : sql.layout !== "local"
        ? `CROSS JOIN LATERAL (SELECT m.* FROM assistant_messages m WHERE ${condition}m.n = s.lo OFFSET 0) AS m`
        : "CROSS JOIN assistant_messages m WHERE m.n = s.lo";
  const found = yield* all<R>(
    `SELECT ${columns} FROM ${sql.segmentTable} AS s ${rows}`,
    JSON.stringify(
      addresses.map(({ n: rowId, sessionId: id }) => (id === undefined ? [0, rowId, rowId] : [0, rowId, rowId, id])),
    ),
    ...values,
  );
  return new Map(found.map((row) => [rowKey(sql, row), row]));
}

/** The key that `keyOf` gives of the address of a row. */
export function rowKey(
  { layout }: Dialect,
  { n: rowId, session_id }: { readonly n: number; readonly session_id: string },
): number | string {
  return layout !== "local" ? keyOf({ n: rowId, sessionId: session_id }) : rowId;
}
