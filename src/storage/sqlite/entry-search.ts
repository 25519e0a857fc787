import { type ScopeSize, scoreIn } from "../../model/bm25.js";
import type { Ranked } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import { bestEntries } from "../engine/best-entries.js";
import { all, type Operation, oneNumber, type SqlValue } from "../engine/operation.js";
import { INDEX_TABLES } from "../engine/search-dialect.js";
import { lengthOf, numbersOf, sizeOfIndex } from "./index-size.js";
import { quote } from "./quote.js";

const INDEX = INDEX_TABLES.entries;
const ENTRIES = "cf_agents_search_entries e";

/** In a smaller index everything is scored. */
const LARGE = 5_000;
/** To ask whether one entry holds a sequence takes as long as to score so many. */
const SCORED_MEANWHILE = 25;

/**
 * The best matches among the entries `e` for which a condition holds. FTS5 scores all that match, whose ever they are. Where that
 * would take longer, it is asked for each entry of the scope instead, and these are scored by BM25 as if each held a sequence once.
 */
export function* searchEntries(sequences: TermSequences, scope: EntryScope, limit: number): Operation<Ranked[]> {
  if (sequences.length === 0) return [];
  const matches = sequences.map(quote);
  const either = matches.join(" OR ");
  const { documents, length } = yield* sizeOfIndex("entries");
  const most = documents < LARGE ? 0 : Math.floor(documents / (SCORED_MEANWHILE * matches.length));
  const some = most === 0 ? 0 : yield* countSome(`${ENTRIES} WHERE ${scope.where}`, scope.values, most);
  const meanwhile = some * matches.length * SCORED_MEANWHILE;
  if (some < most && (yield* countSome(`${INDEX} WHERE ${INDEX} MATCH ?`, [either], meanwhile)) === meanwhile)
    return yield* scoreEach(matches, scope, { documents: some, length }, limit);
  const query = `SELECT e.n AS n, -f.rank AS score FROM ${INDEX} f JOIN ${ENTRIES} ON e.n = f.rowid
       WHERE f.${INDEX} MATCH ? AND ${scope.where} ORDER BY f.rank LIMIT ?`;
  return yield* all<Ranked>(query, either, ...scope.values, limit);
}

/** Entries `e` for which a condition holds. */
interface EntryScope {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

// How many rows there are, up to so many.
const countSome = (rows: string, values: readonly SqlValue[], most: number) =>
  oneNumber(`SELECT count(*) AS count FROM (SELECT 1 FROM ${rows} LIMIT ?)`, ...values, most);

function* scoreEach(
  matches: readonly string[],
  { where, values }: EntryScope,
  size: ScopeSize,
  limit: number,
): Operation<Ranked[]> {
  const query = `SELECT e.n AS n, ${lengthOf("entries")} AS length FROM ${ENTRIES} CROSS JOIN ${INDEX}
     WHERE ${where} AND ${INDEX} MATCH ? AND ${INDEX}.rowid = e.n`;
  const scores = new Map<number, number>();
  for (const match of matches) {
    const holding = yield* all<{ n: number; length: string }>(query, ...values, match);
    const scoreOf = scoreIn(size, holding.length);
    for (const { n: rowId, length } of holding) {
      scores.set(rowId, (scores.get(rowId) ?? 0) + scoreOf(1, numbersOf(length)[0] ?? size.length));
    }
  }
  return bestEntries(scores, limit);
}
