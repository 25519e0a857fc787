import { messagesOf, nearMessages } from "../../model/rank.js";
import { first, type Operation } from "../engine/operation.js";
import type { RowRange, SequenceMatches } from "../engine/search-dialect.js";
import { INTEGER } from "./search-tables.js";

/** A sequence that so many messages hold is in too many of them to look at each. */
export const MANY = 2_000;

/** The matches of a sequence, as far as they are counted and scored. */
export interface Counted extends SequenceMatches {
  /** What the index is asked for. */
  readonly match: string;
  documents: number;
  /** The oldest of those that were counted, by how much it is above `baseOf`. */
  oldest: number;
  /** JSON of those that were counted, the newest first and by how much they are above `baseOf`, where they are fewer than `MANY`. */
  newest: string | null;
  complete: boolean;
  numbers: readonly number[];
  scores: readonly number[];
  others: readonly number[];
}

/** The matches of what the index is asked for, before either. */
export function countable(match: string): Counted {
  const documents = Number.POSITIVE_INFINITY;
  return { match, documents, oldest: 0, newest: null, complete: false, numbers: [], scores: [], others: [] };
}

/** To count is a twentieth of the work of scoring, but not even that is done for every match. */
export function* countMatches(matches: Counted, range: RowRange, limit: number): Operation<void> {
  const row = yield* first<{ count: number; oldest: number | null; newest: string | null }>(
    COUNT[scopeOf(range)],
    ...someWithin(matches.match, range),
    limit,
  );
  matches.documents = row?.count ?? 0;
  matches.oldest = row?.oldest ?? 0;
  matches.newest = row?.newest ?? null;
}

/** Of those that were not counted to the end, the rarer goes further back. */
export function rarestFirst(a: Counted, b: Counted): number {
  return a.documents - b.documents || a.oldest - b.oldest;
}

/** Scores are handed over as whole numbers of billionths. */
const SCALE = 1e9;

/** Scores the newest matches of a sequence. */
export function* scoreNewest(matches: Counted, range: RowRange, limit: number): Operation<void> {
  const row = yield* first<{ numbers: string; scores: string }>(
    SCORE[scopeOf(range)],
    ...someWithin(matches.match, range),
    limit,
  );
  matches.numbers = ascending(row?.numbers, baseOf(range));
  matches.scores = ascending(row?.scores, 0, SCALE);
}

/** Numbers that came as JSON, newest first and above a base. */
function ascending(newestFirst: string | null = null, base = 0, scale = 1): number[] {
  const found: number[] = JSON.parse(newestFirst ?? "[]").reverse();
  for (let index = 0; index < found.length; index += 1) found[index] = base + (found[index] as number) / scale;
  return found;
}

type Scope = "all" | "range";
const scopeOf = (range: RowRange): Scope => (range === null ? "all" : "range");
const baseOf = (range: RowRange) => range?.lo ?? 0;
const someWithin = (match: string, range: RowRange) =>
  range === null ? [match] : [range.lo, match, range.lo, range.hi];

// Some matches among all rows, and in a range of them, from one end. One row of JSON is handed over sooner than hundreds of rows.
// Whole numbers are written and read faster, and small ones fastest: the rows of a range are numbered from its first one.
function some(order: "ASC" | "DESC", columns: string, ...values: string[]): Record<Scope, string> {
  const select = (n: string, where: string) =>
    `SELECT ${columns} FROM (SELECT ${[`${n} AS n`, ...values].join(", ")} FROM assistant_fts
       WHERE assistant_fts MATCH ?${where} ORDER BY rowid ${order} LIMIT ${INTEGER})`;
  return {
    all: select("rowid", ""),
    range: select(`rowid - ${INTEGER}`, ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`),
  };
}

const OLDEST = some("ASC", "json_group_array(n) AS numbers");
const NEWEST = some("DESC", "json_group_array(n) AS numbers");
const COUNT = some(
  "DESC",
  `count(*) AS count, min(n) AS oldest, CASE WHEN count(*) < ${MANY} THEN json_group_array(n) END AS newest`,
);
const SCORE = some(
  "DESC",
  "json_group_array(n) AS numbers, json_group_array(score) AS scores",
  `CAST(-${SCALE} * bm25(assistant_fts) AS INTEGER) AS score`,
);

/** Finds the others of each sequence whose matches are not all scored: see `SearchDialect.matches`. */
export function* findOthers(range: RowRange, found: readonly Counted[]): Operation<void> {
  const messages = messagesOf(found);
  const scored = found.filter(({ numbers }) => numbers.length > 0);
  const rare = scored.filter(({ documents }) => documents < MANY);
  for (const matches of scored) {
    if (matches.complete) continue;
    const others =
      matches.documents < MANY
        ? ascending(matches.newest, baseOf(range))
        : yield* holdingBoth(matches, rare.length > 0 ? rare : scored.filter((other) => other !== matches), range);
    matches.others = nearMessages(others, messages);
  }
}

// The newest messages that hold a sequence and one of others. What two lists have in common FTS5 finds sooner from the oldest
// on, so it is asked for the newest only where there may be many.
function* holdingBoth({ match }: Counted, others: readonly Counted[], range: RowRange): Operation<readonly number[]> {
  const both = `(${others.map((other) => other.match).join(" OR ")}) AND ${match}`;
  const most = others.reduce((sum, { documents }) => sum + documents, 0);
  const query = most < MANY ? OLDEST : NEWEST;
  const row = yield* first<{ numbers: string }>(query[scopeOf(range)], ...someWithin(both, range), MANY);
  const numbers = ascending(row?.numbers, baseOf(range));
  return query === OLDEST ? numbers.reverse() : numbers;
}
