import { INDEX_TABLES, type RowRange } from "../engine/dialect.js";
import { column, type Operation, type SqlValue } from "../engine/operation.js";
import { INTEGER } from "./schema.js";

/** A query of matches among all rows, in a range of them, in one of few rows, and in several ranges. */
export type MatchQuery = Readonly<Record<"all" | "range" | "short" | "ranges", string>>;

/** The rows of a search, and whether they are a short range. */
export type SearchedRows = (NonNullable<RowRange> & { readonly isShort?: boolean | undefined }) | null;

/** A range of so few rows is short: to give its matches from the newest on takes FTS5 longer than to give all of them. */
const SHORT = 1_000;

/** In a smaller index that makes no difference. */
const LARGE = 25_000;

export function* searchedRows(range: RowRange, documents: number): Operation<SearchedRows> {
  if (range === null || range.several !== undefined || documents < LARGE) return range;
  const { lo, hi } = range;
  const newest = `SELECT max(id) FROM ${INDEX}_docsize WHERE id BETWEEN ? AND ?`;
  const [last] = yield* column<number | null>(newest, lo, hi);
  return { ...range, isShort: (last ?? lo) - lo <= SHORT };
}

const INDEX = INDEX_TABLES.messages;

const MATCHES = `${INDEX} WHERE ${INDEX} MATCH ?`;
const IN_RANGE = ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`;
const IN_RANGES = `(SELECT json_extract(value, '$[0]') AS lo, json_extract(value, '$[1]') AS hi FROM json_each(?) LIMIT -1) AS s
  CROSS JOIN ${MATCHES} AND ${INDEX}.rowid BETWEEN s.lo AND s.hi`;

/**
 * Some matches from one end, as one row: that is handed over sooner, as JSON, than hundreds of rows. Whole numbers are written and
 * read faster, and small ones fastest, so `n` counts from `baseOf` on. `values` are further columns of a match.
 */
export function matchQuery(order: "ASC" | "DESC", columns: string, ...values: string[]): MatchQuery {
  const rowsOf = (n: string, matches: string) =>
    `SELECT ${columns} FROM (SELECT ${[n, ...values].join(", ")} FROM ${matches})`;
  const limited = `${order} LIMIT ${INTEGER}`;
  const ordered = `ORDER BY rowid ${limited}`;
  return {
    all: rowsOf("rowid AS n", `${MATCHES} ${ordered}`),
    range: rowsOf(FROM_BASE, `${MATCHES}${IN_RANGE} ${ordered}`),
    short: rowsOf(FROM_BASE, `${MATCHES}${IN_RANGE} ORDER BY +rowid ${limited}`),
    // Put in order before anything else is read of them. They keep the name of the index, which `values` ask. By `+` FTS5 does not go
    // backwards through each range, which takes several times as long.
    ranges: rowsOf(
      FROM_BASE,
      `(SELECT ${INDEX}.rowid AS rowid FROM ${IN_RANGES} ORDER BY +${INDEX}.rowid ${limited}) AS ${INDEX}`,
    ),
  };
}

const FROM_BASE = `rowid - ${INTEGER} AS n`;

const BEHIND = `LIMIT 1 OFFSET ${INTEGER}`;

/** The match behind so many newer ones. To pass over them takes two thirds of the time of counting them. */
export const MATCH_BEHIND: Pick<MatchQuery, "all" | "range"> = {
  all: `SELECT rowid AS n FROM ${MATCHES} ORDER BY rowid DESC ${BEHIND}`,
  range: `SELECT ${FROM_BASE} FROM ${MATCHES}${IN_RANGE} ORDER BY rowid DESC ${BEHIND}`,
};

/** The text of a query, and what it binds, of so many matches. */
export function matchesIn(
  query: MatchQuery,
  match: string,
  range: SearchedRows,
  count: number,
): [string, ...SqlValue[]] {
  if (range?.several !== undefined && isApart(range))
    return [query.ranges, range.lo, JSON.stringify(range.several.ranges), match, count];
  return newestIn({ all: query.all, range: range?.isShort ? query.short : query.range }, match, range, count);
}

/** Reads the newest rows of a range, by FTS5 from the newest on. */
export function newestIn(
  query: Pick<MatchQuery, "all" | "range">,
  match: string,
  range: RowRange,
  count: number,
): [string, ...SqlValue[]] {
  return range === null ? [query.all, match, count] : [query.range, range.lo, match, range.lo, range.hi, count];
}

/** True of rows that are in several ranges. */
export const isApart = (range: RowRange) => (range?.several?.ranges.length ?? 1) > 1;

export const baseOf = (range: RowRange) => range?.lo ?? 0;

/** Numbers that came as JSON, newest first and above a base. */
export function ascending(newestFirst: string | null = null, base = 0, scale = 1): number[] {
  const found: number[] = JSON.parse(newestFirst ?? "[]").reverse();
  for (let index = 0; index < found.length; index += 1) found[index] = base + (found[index] as number) / scale;
  return found;
}
