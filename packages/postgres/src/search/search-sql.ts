import type { Ranked } from "@stemma/model";
import {
  documentTerms,
  queryTerms,
  type ScopeSize,
  type SearchQuery,
  scoreIn,
  type TermSequences,
  withUsual,
} from "@stemma/model";
import {
  all,
  type FoundRow,
  first,
  INDEX_TABLES,
  type Operation,
  rankEntries,
  run,
  runEach,
  type SearchDialect,
  type SqlValue,
} from "@stemma/store";
import { type Placement, spreadSearchOf } from "../citus/placement.js";
import { arrayLiteral } from "../drivers/column-types.js";
import { callMatches, callMatchesOf, frequentQuery, timesOfPhrase } from "./matches.js";
/**
 * Full-text search on an index of our own, which ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */

export const postgresSearch = (placement: Placement, tools: boolean): SearchDialect => ({
  rows: INDEX_TABLES,
  tools,
  get atOnce() {
    return !placement.isSpread && !placement.isApart;
  },

  *add(index, documents) {
    const rows = documents.flatMap(({ sessionId, rowId, document }) => {
      const terms = documentTerms(document);
      return terms.length === 0 ? [] : [[sessionId, rowId, terms.length, arrayLiteral(terms)]];
    });
    const table = INDEX_TABLES[index];
    yield* runEach(`INSERT INTO ${table} (session_id, n, length, terms) VALUES (?, ?, ?, ?::text::text[])`, rows);
  },

  // A row that is there is written over, since an owner's columns stand in it: a tenant, say.
  *replace(index, documents) {
    const [first, last] = [documents[0], documents.at(-1)];
    if (first === undefined || last === undefined) return;
    const table = INDEX_TABLES[index];
    const rows = documents.flatMap(({ sessionId, rowId, document }) => {
      const terms = documentTerms(document);
      return terms.length === 0 ? [] : [{ session: sessionId, n: rowId, length: terms.length, terms: terms.join(" ") }];
    });
    const documentRows = "json_to_recordset(?::text::json) AS r (session TEXT, n BIGINT, length INTEGER, terms TEXT)";
    // An entry's number is its own, whatever session its row names; a row that is spread stays with that.
    const isNamed = index === "messages" || placement.isSpread;
    const [session, isOf] = isNamed ? ["", "d.session_id = r.session AND "] : ["session_id = r.session, ", ""];
    const update = `UPDATE ${table} d SET ${session}length = r.length, terms = string_to_array(r.terms, ' ') FROM ${documentRows}
       WHERE ${isOf}d.n = r.n RETURNING d.n AS n, d.session_id AS session_id`;
    const known = yield* all<{ n: number; session_id: string }>(update, JSON.stringify(rows));
    const nameOf = (sessionId: string, rowId: number) => `${sessionId} ${rowId}`;
    const there = new Set(known.map((row) => nameOf(row.session_id, row.n)));
    const insertion = `INSERT INTO ${table} (session_id, n, length, terms) SELECT r.session, r.n, r.length, string_to_array(r.terms, ' ') FROM ${documentRows}`;
    yield* run(insertion, JSON.stringify(rows.filter((row) => !there.has(nameOf(row.session, row.n)))));
    const [within, bounds] =
      index === "messages"
        ? [
            "(d.session_id, d.n) >= (?, ?) AND (d.session_id, d.n) <= (?, ?)",
            [first.sessionId, first.rowId, last.sessionId, last.rowId],
          ]
        : ["d.n BETWEEN ? AND ?", [first.rowId, last.rowId]];
    const removal = `DELETE FROM ${table} d WHERE ${within} AND d.session_id || ' ' || d.n::text <> ALL (?::text::text[])`;
    yield* run(removal, ...bounds, arrayLiteral(rows.map((row) => nameOf(row.session, row.n))));
  },

  // Reads rows of `from` alone: those of `to` may be on another server.
  *copy(from, to, shift, { condition, values }) {
    const insertion = `INSERT INTO assistant_fts (session_id, n, length, terms)
       SELECT ?, m.n + ?::bigint, f.length, f.terms FROM (SELECT m.n FROM ${condition} OFFSET 0) AS m
       CROSS JOIN LATERAL (SELECT f.length, f.terms FROM assistant_fts f WHERE f.session_id = ? AND f.n = m.n OFFSET 0) AS f`;
    yield* run(insertion, ...[to.id, shift, ...values], from.id);
  },

  *remove(index, sessionId, lo, hi) {
    const [own, ids] = sessionId === null ? ["", []] : ["session_id = ? AND ", [sessionId]];
    yield* run(`DELETE FROM ${INDEX_TABLES[index]} WHERE ${own}n BETWEEN ? AND ?`, ...ids, lo, hi);
  },

  *matches(sequences, range, limit, shown = 0) {
    if (sequences.length === 0) {
      return { sequences: [], lengths: new Map(), branches: new Map(), sessions: [], rows: [] };
    }
    const spread = spreadSearchOf(placement);
    return yield* spread === null
      ? callMatches(sequences, range, limit, shown)
      : spread.spreadMatches(sequences, range, limit);
  },

  matchesOf: callMatchesOf,

  *hits(addresses, since = null) {
    if (placement.isSpread) return null;
    if (addresses.length === 0) return [];
    const sessions = arrayLiteral(addresses.map(({ sessionId = "" }) => sessionId));
    const numbers = `{${addresses.map(({ n: rowId }) => rowId).join(",")}}`;
    return yield* frequentQuery<FoundRow>("SELECT * FROM assistant_hits(?, ?, ?)", [sessions, numbers, since]);
  },

  entries: searchEntries,
});

/** How many entries are counted, and their lengths averaged. */
const SAMPLED = 10_000;
/** Of each sequence so many entries are scored: the newest. Those that hold others as well are taken to be as good as usual. */
const MOST = 1_000;

const TABLE = "cf_agents_search_fts";

/** Entries `e` for which a condition holds. */
interface EntryScope {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

/** Finds the best entries. See `SearchDialect.entries`. */
function* searchEntries(query: SearchQuery, { where, values }: EntryScope, limit: number): Operation<Ranked[]> {
  const sequences = queryTerms(query);
  if (sequences.length === 0) return [];
  const rows = `${TABLE} d JOIN cf_agents_search_entries e ON e.session_id = d.session_id AND e.n = d.n WHERE ${where}`;
  const size = yield* sizeOf(rows, values);
  const found = yield* findHolding(sequences, rows, values);
  const others = yield* findOthers(sequences, found, rows, values);
  const documents = Math.max(size.documents, ...found.map((held) => held.documents));
  const lengths = new Map<number, number>();
  for (const { numbers, lengths: own } of [...found, others])
    for (const [at, n] of numbers.entries()) lengths.set(n, own[at] as number);
  const matches = found.map(({ documents: holding, numbers, times }, index) => {
    const score = scoreIn({ ...size, documents }, holding);
    const scores = numbers.map((n, at) => score(times[at] as number, lengths.get(n) as number));
    return withUsual({ numbers, scores }, others.holding[index] ?? []);
  });
  return rankEntries(query, matches, lengths, limit);
}

/** Rows by their numbers, ascending, and how many terms each has. */
interface Rows {
  readonly numbers: readonly number[];
  readonly lengths: readonly number[];
}

/** The newest rows that hold a sequence, how many times each does, and how many rows do. */
interface Holding extends Rows {
  readonly times: readonly number[];
  readonly documents: number;
}

// As lists in JSON: a driver takes far longer for rows of their own.
const listOf = (column: string, name: string, filter = "") =>
  `(json_agg(${column} ORDER BY h.n)${filter})::text AS ${name}`;
const parseList = (list: string | null | undefined): number[] => JSON.parse(list ?? "[]");

function* findHolding(sequences: TermSequences, rows: string, values: readonly SqlValue[]): Operation<Holding[]> {
  const query = `WITH wanted AS MATERIALIZED (
       SELECT w.i, ARRAY(SELECT json_array_elements_text(w.terms)) AS terms
       FROM json_array_elements(?::text::json) WITH ORDINALITY AS w (terms, i)
     ), held AS MATERIALIZED (
       SELECT w.i, d.n, d.length, d.documents, CASE cardinality(w.terms)
         WHEN 1 THEN cardinality(array_positions(d.terms, w.terms[1]))
         ELSE ${timesOfPhrase("w.terms")} END AS times
       FROM wanted w CROSS JOIN LATERAL (
         SELECT d.n, d.length, d.terms, count(*) OVER () AS documents
         FROM ${rows} AND d.terms @> w.terms ORDER BY d.n DESC LIMIT ${MOST}) AS d
     )
     SELECT h.i, max(h.documents) AS documents, ${listOf("h.n", "numbers")}, ${listOf("h.length", "lengths")}, ${listOf("h.times", "times")}
     FROM held h WHERE h.times > 0 GROUP BY h.i`;
  const held = yield* all<{ i: number; documents: number } & Record<"numbers" | "lengths" | "times", string>>(
    query,
    JSON.stringify(sequences),
    ...values,
  );
  return sequences.map((terms, index) => {
    const found = held.find(({ i }) => i === index + 1);
    const numbers = parseList(found?.numbers);
    const documents = terms.length === 1 ? (found?.documents ?? 0) : numbers.length;
    return { numbers, lengths: parseList(found?.lengths), times: parseList(found?.times), documents };
  });
}

/** Rows that hold words of which not every row is scored, by the places of these among the sequences. */
interface Others extends Rows {
  readonly holding: Readonly<Record<number, readonly number[]>>;
}

// They hold one of the rarer sequences as well, or all that are as common.
function* findOthers(
  sequences: TermSequences,
  found: readonly Rows[],
  rows: string,
  values: readonly SqlValue[],
): Operation<Others> {
  const isCommon = (index: number) => found[index]?.numbers.length === MOST;
  const common = sequences.filter((_, index) => isCommon(index));
  const rarer = sequences.filter((_, index) => found[index]?.numbers.length !== 0 && !isCommon(index));
  const either = common.length > 1 ? [...rarer, common.flat()] : rarer;
  const words = [...sequences.keys()].filter((index) => isCommon(index) && sequences[index]?.length === 1);
  if (words.length === 0 || either.length === 0) return { numbers: [], lengths: [], holding: {} };
  const holds = "d.terms @> ?::text::text[]";
  const columns = words.map((index) => `, ${holds} AS holds${index}`).join("");
  const lists = words.map((index) => listOf("h.n", `holds${index}`, ` FILTER (WHERE h.holds${index})`));
  const query = `SELECT ${[listOf("h.n", "numbers"), listOf("h.length", "lengths"), ...lists].join(", ")} FROM (
    SELECT d.n, d.length${columns} FROM ${rows} AND (${either.map(() => holds).join(" OR ")})
    ORDER BY d.n DESC LIMIT ${MOST * either.length}) AS h`;
  const wanted = words.map((index) => arrayLiteral(sequences[index] as readonly string[]));
  const row = yield* first<Record<string, string | null>>(query, ...wanted, ...values, ...either.map(arrayLiteral));
  const holding = Object.fromEntries(words.map((index) => [index, parseList(row?.[`holds${index}`])]));
  return { numbers: parseList(row?.numbers), lengths: parseList(row?.lengths), holding };
}

// The planner's statistics tell how many rows a table has, but not of one that was just filled. So the number is estimated
// from the table's bytes and those of the sampled rows; long terms stand outside their rows.
function* sizeOf(rows: string, values: readonly SqlValue[]): Operation<ScopeSize> {
  const row = yield* first<{ count: number; span: number; length: number; width: number; bytes: number }>(
    `SELECT count(*) AS count, max(n) AS span, avg(length)::float8 AS length,
            avg(44 + least(width, 2000))::float8 AS width, pg_relation_size(to_regclass('${TABLE}')) AS bytes
     FROM (SELECT d.n, d.length, pg_column_size(d.terms) AS width FROM ${rows} ORDER BY d.n DESC LIMIT ${SAMPLED}) AS sample`,
    ...values,
  );
  if (row === undefined || row.count === 0) return { documents: 0, length: 1 };
  if (row.count < SAMPLED) return { documents: row.count, length: row.length };
  // Where other servers have the rows, this one does not know their bytes.
  const estimated = Math.round(row.bytes === 0 ? row.span : Math.min(row.span, row.bytes / row.width));
  return { documents: Math.max(SAMPLED, estimated), length: row.length };
}
