import type { SessionMessage } from "../../../model/message.js";
import type { SearchQuery } from "../../../model/query.js";
import type { Ranked } from "../../../model/rank.js";
import { explainResult } from "../../../model/search-explanation.js";
import { markedSnippet } from "../../../model/snippet.js";
import { searchableText, searchDocument, senderName } from "../../../model/text.js";
import type { FoundMessage, SearchHit, SearchRequest } from "../../contract.js";
import type { Dialect, FoundRow } from "../../engine/dialect.js";
import { all, type Operation } from "../../engine/operation.js";
import { idsOf, ownOf, rowsOf, type SessionRows, sameSession } from "../../engine/session-rows.js";
import { readContent } from "../content.js";
import { findSegments, type Segment } from "../path.js";
import { ceilingOf, floorOf, SPAN, sessionOf } from "../row-id.js";
import { activeLeaf, findSessionHead } from "../session-head.js";
import { findRows, inRange, isOnPath, joinSessions } from "./search-scope.js";

type HitRow = Omit<FoundRow, "covering">;

const sessionRows = (sql: Dialect, { n: rowId, session_id }: HitRow) => rowsOf(sql, session_id, sessionOf(rowId));

const COLUMNS = "n, id, session_id, branch, role, dated_at, created_at, content";
const COLUMNS_OF_M = COLUMNS.replace(/\w+/g, "m.$& AS $&");

/**
 * How many compactions have a row `m` in their range, of its session: nearly always none. Where rows are spread over servers,
 * they are looked for in any case: a statement that asked for them as well would not be one of the server that has the row.
 */
const covering = (sql: Dialect): string =>
  sql.isSpread
    ? "1 AS covering"
    : `(SELECT count(*) FROM assistant_compactions c
  WHERE ${sameSession(sql, "c", "m")}c.n BETWEEN m.n - m.n % ${SPAN} AND m.n - m.n % ${SPAN} + ${SPAN - 1}
  AND m.n BETWEEN c.from_n AND c.to_n) AS covering`;

/** Reads what was found, with what stands around it; `path` is the one that the search was narrowed to. */
export function* readHits(
  sql: Dialect,
  query: SearchQuery,
  ranked: readonly Ranked[],
  request: SearchRequest,
  path: readonly Segment[] | null,
): Operation<SearchHit[]> {
  const numbers = ranked.map(({ n: rowId }) => rowId);
  const read = sql.search?.hits;
  const found = read === undefined ? null : yield* read(numbers);
  const rows =
    found === null
      ? yield* findRows<FoundRow>(sql, numbers, `${COLUMNS_OF_M}, ${covering(sql)}`, request.sessionId)
      : new Map(found.map((row) => [row.n, row]));
  const covered = [...rows.values()].filter((row) => row.covering > 0);
  const compactions = yield* compactionsOver(sql, covered, request.sessionId);
  const paths = pathsThrough(sql, path);
  const hits: SearchHit[] = [];
  for (const { n: rowId, score, reasons } of ranked) {
    const row = rows.get(rowId);
    if (row === undefined) continue;
    const message = yield* readFound(sql, row);
    hits.push({
      ...message,
      sessionId: row.session_id,
      score,
      snippet: markedSnippet(message.content, query),
      coveredBy: compactions.get(rowId) ?? [],
      ...(request.context ? { context: yield* contextOf(sql, yield* paths(row), row, request.context) } : {}),
      ...(reasons === undefined ? {} : { explanation: explainResult(query, documentOf(message, row), reasons) }),
    });
  }
  return hits;
}

// A message that cannot be read has no text.
function* readFound(sql: Dialect, row: HitRow): Operation<FoundMessage> {
  const message: SessionMessage | null = yield* readContent(sessionRows(sql, row), row, () => {});
  const name = message === null ? "" : senderName(message);
  return {
    id: row.id,
    role: row.role,
    ...(name === "" ? {} : { name }),
    content: message === null ? "" : searchableText(message),
    createdAt: row.dated_at ?? row.created_at,
  };
}

function documentOf({ name = "", content: text }: FoundMessage, { dated_at: createdAt }: HitRow): string {
  return searchDocument({ text, name, createdAt });
}

// What was found is found, also where the rows around it are damaged.
const passOver = (): void => {};

interface CompactionEnd {
  readonly id: string;
  readonly from_n: number;
  readonly to_n: number;
  /** The branch that it ends on; null where its end is gone. */
  readonly branch: number | null;
}

// The ids of the compactions whose range holds each of the rows, newest first.
function* compactionsOver(
  sql: Dialect,
  rows: readonly HitRow[],
  sessionId: string | undefined,
): Operation<Map<number, string[]>> {
  const covered = new Map<number, string[]>();
  const sessions = new Map(rows.map((row) => [sessionOf(row.n), sessionRows(sql, row)]));
  if (sessions.size === 0) return covered;
  const ofAny = sql.isSpread && typeof sessionId !== "string";
  const { condition, values } = inRange(sql, "c", sessionId);
  const [own, ids] =
    typeof sessionId === "string" ? [ownOf(sql, "m"), idsOf(sql, sessionId)] : [sameSession(sql, "m", "c"), []];
  const among = ofAny
    ? joinSessions("assistant_compactions c", "c.n BETWEEN s.lo AND s.hi")
    : `CROSS JOIN assistant_compactions c WHERE ${condition}c.n BETWEEN s.lo AND s.hi`;
  const compactions = yield* all<CompactionEnd>(
    `SELECT c.id AS id, c.from_n AS from_n, c.to_n AS to_n,
       (SELECT m.branch FROM assistant_messages m WHERE ${own}m.n = c.to_n) AS branch
     FROM ${sql.segmentTable} AS s ${among} ORDER BY c.n DESC`,
    ...ids,
    JSON.stringify([...sessions.keys()].map((number) => [0, floorOf(number), ceilingOf(number)])),
    ...(ofAny ? [] : values),
  );
  for (const { id, from_n, to_n, branch } of compactions) {
    const within = rows.filter(({ n: rowId }) => from_n <= rowId && rowId <= to_n);
    const session = sessions.get(sessionOf(to_n));
    // Where the end is gone, or stands in another session, so is the path.
    if (within.length === 0 || branch === null || session === undefined) continue;
    const path = yield* findSegments(session, { n: to_n, branch }, passOver);
    for (const row of within) {
      if (isOnPath(path, row)) covered.set(row.n, [...(covered.get(row.n) ?? []), id]);
    }
  }
  return covered;
}

// The path on which a row's neighbours are looked for: the one that was asked for, else the active one where the row lies
// on that, else the row's own branch to its end.
function pathsThrough(sql: Dialect, asked: readonly Segment[] | null): (row: HitRow) => Operation<readonly Segment[]> {
  const active = new Map<number, readonly Segment[]>();
  return function* (row) {
    if (asked !== null) return asked;
    const session = sessionRows(sql, row);
    let path = active.get(session.no);
    if (path === undefined) {
      const head = yield* findSessionHead(sql, row.session_id);
      const leaf = head === null ? null : yield* activeLeaf(head, passOver);
      path = leaf === null ? [] : yield* findSegments(session, leaf, passOver);
      active.set(session.no, path);
    }
    return isOnPath(path, row)
      ? path
      : yield* findSegments(session, { n: ceilingOf(session.no), branch: row.branch }, passOver);
  };
}

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
  const found: FoundMessage[] = [];
  for (const segment of segments) {
    const [lo, hi] = part(segment);
    if (lo > hi || found.length === size) continue;
    const rows = yield* all<HitRow>(
      `SELECT ${COLUMNS} FROM assistant_messages
       WHERE ${session.own}n BETWEEN ? AND ? AND branch = ? ORDER BY n ${order} LIMIT ?`,
      ...session.ids,
      lo,
      hi,
      segment.branch,
      size - found.length,
    );
    for (const row of rows) found.push(yield* readFound(sql, row));
  }
  return found;
}
