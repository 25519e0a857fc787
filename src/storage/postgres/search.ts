import { messagesOf, nearMessages, neighboursOf } from "../../model/rank.js";
import { documentTerms } from "../../model/terms.js";
import type { Condition, RowRange, SearchDialect, SearchIndex } from "../engine/dialect.js";
import { all, run } from "../engine/operation.js";
import { arrayLiteral } from "./array-literal.js";
import { type Placement, spreadSearchOf } from "./placement.js";
import { findMatches, type Reach, type Scope, type ScopeSize, sizeOf, TIMES, WANTED } from "./search-matches.js";

/**
 * Full-text search on an index of our own, which ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */
const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

/** How many documents are counted, and their lengths averaged. */
const SAMPLED_MESSAGES = 1_000;
const SAMPLED_ENTRIES = 10_000;

/** In so few messages of a range a sequence is looked for in each of them, in more by the inverted index. */
const FEW = 5_000;

/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
const MANY = 2_000;

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
    const ofAll = searchOfAll(placement, range);
    if (ofAll !== null) return yield* ofAll.matchesOfAll(sequences, boundsOf(range), limit);
    const scope = messagesIn(range);
    const size = yield* sizeOf(scope);
    const found = sequences.map(() => ({
      documents: 0,
      complete: true,
      numbers: [] as number[],
      scores: [] as number[],
    }));
    const reach = reachOf(range, scope, size, limit / Math.max(1, sequences.length), limit);
    for (const { i, n: rowId, score, documents } of yield* findMatches(sequences, scope, size, reach, limit)) {
      const matches = found[i - 1] as (typeof found)[number];
      matches.documents = documents;
      if (rowId === null) continue;
      matches.numbers.push(rowId);
      matches.scores.push(score);
    }
    for (const matches of found) matches.complete = matches.numbers.length === matches.documents;
    return found;
  },

  *holding(sequences, range, found) {
    const messages = messagesOf(found);
    const near = neighboursOf(messages);
    const held = found.map((): number[] => []);
    const byIndex: number[] = [];
    const byRow = new Map<readonly number[], number[]>();
    const own = [...messages];
    for (const [index, { complete, numbers, documents }] of found.entries()) {
      if (complete || numbers.length === 0) continue;
      const isWord = sequences[index]?.length === 1;
      if (isWord && documents < MANY) byIndex.push(index);
      else {
        const among = documents < MANY ? near : own;
        byRow.set(among, [...(byRow.get(among) ?? []), index]);
      }
    }
    const ofAll = searchOfAll(placement, range);
    if (ofAll !== null) {
      const within = boundsOf(range);
      const terms = (index: number) => sequences[index] as readonly string[];
      for (const index of byIndex) {
        held[index] = nearMessages(yield* ofAll.holdingOfAll(terms(index), within, null), messages);
      }
      for (const [among, some] of byRow) {
        for (const index of some) held[index] = yield* ofAll.holdingOfAll(terms(index), within, among);
      }
      return held;
    }
    const wanted = (some: readonly number[]) => JSON.stringify(some.map((index) => sequences[index]));
    const { condition, values: ids } = ownTo(range === null ? null : [range.sessionId]);
    const bounds = [range?.lo ?? 0, range?.hi ?? Number.MAX_SAFE_INTEGER];
    const values = [...ids, ...bounds];
    if (byIndex.length > 0) {
      const rows = yield* all<{ i: number; numbers: string }>(holdingWord(condition), wanted(byIndex), ...values);
      for (const { i, numbers } of rows) {
        held[byIndex[i - 1] as number] = nearMessages(JSON.parse(numbers) as number[], messages);
      }
    }
    for (const [among, some] of byRow) {
      const query = holdingAmong(condition);
      const rows = yield* all<{ i: number; n: number }>(query, wanted(some), `{${among.join(",")}}`, ...values);
      for (const { i, n: rowId } of rows) held[some[i - 1] as number]?.push(rowId);
    }
    return held;
  },

  *entries(sequences, { where, values, sessionIds }, limit) {
    const rows = `cf_agents_search_fts d JOIN cf_agents_search_entries e ON e.session_id = d.session_id AND e.n = d.n WHERE ${where}`;
    const scope = { table: TABLES.entries, own: ownTo(sessionIds), rows, values, floor: 0, sample: SAMPLED_ENTRIES };
    const holding = `${rows} AND d.terms @> w.terms`;
    const reach = { holding, most: Number.MAX_SAFE_INTEGER, newest: 0 };
    const scores = new Map<number, number>();
    const matches = yield* findMatches(sequences, scope, yield* sizeOf(scope), reach, SAMPLED_ENTRIES);
    for (const { n: rowId, score } of matches) {
      if (rowId !== null) scores.set(rowId, (scores.get(rowId) ?? 0) + score);
    }
    const ranked = [...scores].map(([rowId, score]) => ({ n: rowId, score }));
    return ranked.sort((a, b) => b.score - a.score || a.n - b.n).slice(0, limit);
  },
});

// What searches rows of several sessions where these are spread; null for an ordinary search.
const searchOfAll = (placement: Placement, range: RowRange) =>
  typeof range?.sessionId === "string" ? null : spreadSearchOf(placement);

const boundsOf = (range: RowRange): Condition => ({
  condition: "d.n BETWEEN ? AND ?",
  values: [range?.lo ?? 0, range?.hi ?? Number.MAX_SAFE_INTEGER],
});

// Begins a condition on rows `d`: they are of these sessions; of any for null.
function ownTo(sessionIds: readonly (string | null)[] | null): Condition {
  const ids = (sessionIds ?? []).filter((id) => id !== null);
  if (ids.length === 0) return { condition: "", values: [] };
  const is = ids.length === 1 ? "= ?" : `IN (${ids.map(() => "?").join(", ")})`;
  return { condition: `d.session_id ${is} AND `, values: ids };
}

// All rows that hold a word, of which there are not many.
const holdingWord = (own: string) => `WITH wanted AS MATERIALIZED (SELECT w.i, w.terms FROM ${WANTED})
  SELECT w.i AS i, json_agg(d.n ORDER BY d.n)::text AS numbers
  FROM wanted w CROSS JOIN LATERAL (SELECT d.n FROM assistant_fts d WHERE ${own}d.terms @> w.terms OFFSET 0) AS d
  WHERE d.n BETWEEN ? AND ? GROUP BY w.i`;

// Of some rows those that hold a sequence.
const holdingAmong = (
  own: string,
) => `WITH wanted AS MATERIALIZED (SELECT w.i, w.terms FROM ${WANTED}), among AS MATERIALIZED (
    SELECT d.n, d.terms FROM unnest(?::text::bigint[]) AS r (n)
    CROSS JOIN LATERAL (SELECT d.n, d.terms FROM assistant_fts d WHERE ${own}d.n = r.n OFFSET 0) AS d WHERE d.n BETWEEN ? AND ?)
  SELECT w.i AS i, d.n AS n FROM wanted w JOIN among d ON d.terms @> w.terms
  WHERE cardinality(w.terms) = 1 OR ${TIMES} > 0 ORDER BY n`;

function messagesIn(range: RowRange): Scope {
  const { lo, hi, sessionId } = range ?? { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId: null };
  const own = ownTo([sessionId]);
  const rows = `${TABLES.messages} d WHERE ${own.condition}d.n BETWEEN ? AND ?`;
  return { table: TABLES.messages, own, rows, values: [...own.values, lo, hi], floor: lo, sample: SAMPLED_MESSAGES };
}

// What is to be read by an index stands in a subquery of its own: without statistics, or with those of another day, the
// planner would choose another way.
function reachOf(
  range: RowRange,
  { own, rows }: Scope,
  { documents }: ScopeSize,
  places: number,
  limit: number,
): Reach {
  if (range !== null && documents <= FEW) {
    const holding = `(SELECT d.n, d.length, d.terms FROM ${rows} ORDER BY d.n DESC OFFSET 0) AS d WHERE d.terms @> w.terms`;
    return { holding, most: Number.MAX_SAFE_INTEGER, newest: 0 };
  }
  const holding = `(SELECT d.n, d.length FROM ${TABLES.messages} d WHERE ${own.condition}d.terms @> w.terms OFFSET 0) AS d WHERE d.n BETWEEN ? AND ?`;
  // Of what stands in more rows than these, so many are found sooner among the newest rows.
  const most = Math.max(MANY, limit + 1, Math.ceil(Math.sqrt(places * documents)));
  return { holding, most, newest: Math.ceil((2 * limit * documents) / most) };
}
