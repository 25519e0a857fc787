import { documentTerms } from "../../model/terms.js";
import { all, run, runEach } from "../engine/operation.js";
import { type FoundRow, INDEX_TABLES, type SearchDialect } from "../engine/search-dialect.js";
import { arrayLiteral } from "./array-literal.js";
import { callMatches, callMatchesOf, frequentQuery } from "./call-matches.js";
import { searchEntries } from "./entry-search.js";
import { type Placement, spreadSearchOf } from "./placement.js";

/**
 * Full-text search on an index of our own, which ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */

export const postgresSearch = (placement: Placement): SearchDialect => ({
  rows: INDEX_TABLES,
  mayLag: false,
  indexesLater: false,
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
    const given = "json_to_recordset(?::text::json) AS r (session TEXT, n BIGINT, length INTEGER, terms TEXT)";
    // An entry's number is its own, whatever session its row names; a row that is spread stays with that.
    const isNamed = index === "messages" || placement.isSpread;
    const [session, isOf] = isNamed ? ["", "d.session_id = r.session AND "] : ["session_id = r.session, ", ""];
    const update = `UPDATE ${table} d SET ${session}length = r.length, terms = string_to_array(r.terms, ' ') FROM ${given}
       WHERE ${isOf}d.n = r.n RETURNING d.n AS n, d.session_id AS session_id`;
    const known = yield* all<{ n: number; session_id: string }>(update, JSON.stringify(rows));
    const nameOf = (sessionId: string, rowId: number) => `${sessionId} ${rowId}`;
    const there = new Set(known.map((row) => nameOf(row.session_id, row.n)));
    const insertion = `INSERT INTO ${table} (session_id, n, length, terms) SELECT r.session, r.n, r.length, string_to_array(r.terms, ' ') FROM ${given}`;
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
    if (sequences.length === 0) return { sequences: [], branches: new Map(), sessions: [], rows: [] };
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
