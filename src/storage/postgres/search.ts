import { messagesOf, nearMessages } from "../../model/rank.js";
import { documentTerms, type TermSequences } from "../../model/terms.js";
import type { FoundMatches, FoundRow, RowRange, SearchDialect, SearchIndex } from "../engine/dialect.js";
import { all, first, type Operation, run } from "../engine/operation.js";
import { arrayLiteral } from "./array-literal.js";
import { scoreIn } from "./bm25.js";
import { searchEntries } from "./entry-search.js";
import { type Placement, spreadSearchOf } from "./placement.js";

/**
 * Full-text search on an index of our own, which ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */
const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

export const postgresSearch = (placement: Placement): SearchDialect => ({
  rows: TABLES,

  add(index, sessionId, rowId, document) {
    const terms = documentTerms(document);
    return {
      sql: `INSERT INTO ${TABLES[index]} (session_id, n, length, terms) VALUES (?, ?, ?, ?::text::text[])`,
      values: [sessionId, rowId, terms.length, arrayLiteral(terms)],
    };
  },

  // A row that is there is written over, since an owner's columns stand in it: a tenant, say.
  *replace(index, documents) {
    const [first, last] = [documents[0], documents.at(-1)];
    if (first === undefined || last === undefined) return;
    const table = TABLES[index];
    const rows = documents.flatMap(({ sessionId, n: rowId, document }) => {
      const terms = documentTerms(document);
      return terms.length === 0 ? [] : [{ session: sessionId, n: rowId, length: terms.length, terms: terms.join(" ") }];
    });
    const given = "json_to_recordset(?::text::json) AS r (session TEXT, n BIGINT, length INTEGER, terms TEXT)";
    // A row that is spread stays with its session.
    const [session, of] = placement.isSpread ? ["", "d.session_id = r.session AND "] : ["session_id = r.session, ", ""];
    const known = yield* all<{ n: number }>(
      `UPDATE ${table} d SET ${session}length = r.length, terms = string_to_array(r.terms, ' ') FROM ${given}
       WHERE ${of}d.n = r.n RETURNING d.n AS n`,
      JSON.stringify(rows),
    );
    const there = new Set(known.map(({ n: rowId }) => rowId));
    yield* run(
      `INSERT INTO ${table} (session_id, n, length, terms) SELECT r.session, r.n, r.length, string_to_array(r.terms, ' ') FROM ${given}`,
      JSON.stringify(rows.filter(({ n: rowId }) => !there.has(rowId))),
    );
    yield* run(
      `DELETE FROM ${table} d WHERE d.n BETWEEN ? AND ? AND d.n <> ALL (?::text::bigint[])`,
      first.n,
      last.n,
      `{${rows.map(({ n: rowId }) => rowId).join(",")}}`,
    );
  },

  // Reads rows of `from` alone: those of `to` may be on another server.
  *copy(from, to, shift, { condition, values }) {
    yield* run(
      `INSERT INTO assistant_fts (session_id, n, length, terms)
       SELECT ?, m.n + ?::bigint, f.length, f.terms FROM (SELECT m.n FROM ${condition} OFFSET 0) AS m
       CROSS JOIN LATERAL (SELECT f.length, f.terms FROM assistant_fts f WHERE f.session_id = ? AND f.n = m.n OFFSET 0) AS f`,
      ...[to.id, shift, ...values],
      from.id,
    );
  },

  *remove(index, sessionId, lo, hi) {
    const [own, ids] = sessionId === null ? ["", []] : ["session_id = ? AND ", [sessionId]];
    yield* run(`DELETE FROM ${TABLES[index]} WHERE ${own}n BETWEEN ? AND ?`, ...ids, lo, hi);
  },

  *matches(sequences, range, limit) {
    if (sequences.length === 0) return { sequences: [], forked: [] };
    const spread = spreadSearchOf(placement);
    return yield* spread === null
      ? callMatches(sequences, range, limit)
      : spread.spreadMatches(sequences, range, limit);
  },

  *hits(numbers) {
    if (placement.isSpread) return null;
    if (numbers.length === 0) return [];
    return yield* all<FoundRow>("SELECT * FROM assistant_hits(?)", `{${numbers.join(",")}}`);
  },

  entries: searchEntries,
});

/** What `MATCHES` gives. */
interface CalledMatches {
  /** How many messages there are, and how many terms each of them has on average. */
  readonly total: number;
  readonly mean: number;
  /** Of each sequence: how many messages hold it, those that are scored, and others. */
  readonly documents: readonly number[];
  readonly scored: readonly (readonly [numbers: number[], lengths: number[], times: number[]] | null)[];
  readonly others: readonly (number[] | null)[];
  /** Sessions that have several branches. */
  readonly forked: readonly number[];
}

function* callMatches(sequences: TermSequences, range: RowRange, limit: number): Operation<FoundMatches> {
  const row = yield* first<{ found: string | null }>(
    "SELECT assistant_matches(?, ?, ?, ?) AS found",
    range?.lo ?? null,
    range?.hi ?? null,
    arrayLiteral(sequences.map(arrayLiteral)),
    limit,
  );
  const nothing = { total: 0, mean: 1, documents: sequences.map(() => 0), scored: [], others: [], forked: [] };
  const found: CalledMatches = typeof row?.found === "string" ? JSON.parse(row.found) : nothing;
  const size = { documents: Math.max(found.total, ...found.documents), length: found.mean };
  const matches = found.documents.map((count, index) => {
    const [numbers, lengths, times] = found.scored[index] ?? [[], [], []];
    const score = scoreIn(size, count);
    const scores = numbers.map((_, place) => score(times[place] as number, lengths[place] as number));
    return { documents: count, complete: numbers.length === count, numbers, scores };
  });
  const messages = messagesOf(matches);
  const othersOf = (index: number) => nearMessages(found.others[index]?.sort((a, b) => a - b) ?? [], messages);
  return { sequences: matches.map((each, index) => ({ ...each, others: othersOf(index) })), forked: found.forked };
}
