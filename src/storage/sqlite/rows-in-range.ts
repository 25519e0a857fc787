import type { SqlValue } from "../engine/operation.js";
import { INDEX_TABLES, type RowRange } from "../engine/search-dialect.js";
import { INTEGER } from "./search-tables.js";

type Scope = "all" | "range";

/** A query of matches among all rows, and in a range of them. */
export type MatchQuery = Readonly<Record<Scope, string>>;

const INDEX = INDEX_TABLES.messages;

/**
 * Some matches from one end, as one row: that is handed over sooner, as JSON, than hundreds of rows. Whole numbers are written and
 * read faster, and small ones fastest, so `n` counts from `baseOf` on. `values` are further columns of a match.
 */
export function matchQuery(order: "ASC" | "DESC", columns: string, ...values: string[]): MatchQuery {
  return query((n, where) => {
    const matches = `SELECT ${[`${n} AS n`, ...values].join(", ")} FROM ${INDEX} WHERE ${INDEX} MATCH ?${where}`;
    return `SELECT ${columns} FROM (${matches} ORDER BY rowid ${order} LIMIT ${INTEGER})`;
  });
}

/** The match behind so many newer ones. To pass over them takes two thirds of the time of counting them. */
export const MATCH_BEHIND = query(
  (n, where) =>
    `SELECT ${n} AS n FROM ${INDEX} WHERE ${INDEX} MATCH ?${where} ORDER BY rowid DESC LIMIT 1 OFFSET ${INTEGER}`,
);

function query(select: (n: string, where: string) => string): MatchQuery {
  return {
    all: select("rowid", ""),
    range: select(`rowid - ${INTEGER}`, ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`),
  };
}

/** The text of a query, and what it binds, of so many matches. */
export function matchesIn(query: MatchQuery, match: string, range: RowRange, count: number): [string, ...SqlValue[]] {
  return range === null ? [query.all, match, count] : [query.range, range.lo, match, range.lo, range.hi, count];
}

export const baseOf = (range: RowRange) => range?.lo ?? 0;

/** Numbers that came as JSON, newest first and above a base. */
export function ascending(newestFirst: string | null = null, base = 0, scale = 1): number[] {
  const found: number[] = JSON.parse(newestFirst ?? "[]").reverse();
  for (let index = 0; index < found.length; index += 1) found[index] = base + (found[index] as number) / scale;
  return found;
}
