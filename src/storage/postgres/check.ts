import { documentTerms } from "../../model/terms.js";
import { addTerm, type CheckDialect } from "../check/dialect.js";
import type { SearchIndex } from "../engine/dialect.js";
import { all, run } from "../engine/operation.js";
import { SPAN } from "../operations/row-id.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };
const ROWS: Record<SearchIndex, string> = { messages: "assistant_messages", entries: "cf_agents_search_entries" };
const PAGE = 1_000;

/** True for a row `d` that names another session than the one that it is of. Where that is not there, nothing can be told. */
const MISNAMED: Record<SearchIndex, string> = {
  messages: `EXISTS (SELECT FROM assistant_sessions s WHERE s.no = d.n / ${SPAN} AND s.id <> d.session_id)`,
  entries: "EXISTS (SELECT FROM cf_agents_search_entries e WHERE e.n = d.n AND e.session_id <> d.session_id)",
};
/** A fingerprint that no document has. */
const MISNAMED_SUM = -1;

/** What a check asks Postgres: it looks after its own files and indexes. */
export const postgresCheck: CheckDialect = {
  integrity: null,
  *reindex() {},
  vectorLength: "cardinality(v.vector)",
  indexCheckWrites: false,
  *open() {},
  *close() {},
  *indexed({ isSpread }, index, lo, hi) {
    // What stands on another server cannot be looked at beside a row.
    const misnamed = isSpread ? "FALSE" : MISNAMED[index];
    const found = new Map<number, number>();
    for (let from = lo; ; ) {
      const rows = yield* all<{ n: number; length: number; terms: string; misnamed: boolean }>(
        `SELECT n, length, to_json(terms)::text AS terms, ${misnamed} AS misnamed FROM ${TABLES[index]} d
         WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ${PAGE}`,
        from,
        hi,
      );
      for (const { n: rowId, length, terms, misnamed } of rows) {
        const list = JSON.parse(terms) as string[];
        const sum = misnamed ? MISNAMED_SUM : sumOf(list, length);
        if (sum !== null) found.set(rowId, sum);
      }
      const last = rows.at(-1);
      if (last === undefined) return found;
      from = last.n + 1;
    }
  },
  // biome-ignore lint/correctness/useYield: the terms are made here, not in the database
  *expected(_sql, documents) {
    const found = new Map<number, number>();
    for (const { n: rowId, text } of documents) {
      const terms = documentTerms(text);
      const sum = sumOf(terms, terms.length);
      if (sum !== null) found.set(rowId, sum);
    }
    return found;
  },
  *emptyIndex() {
    // Rows that are there are written over, since an owner's columns stand in them.
    for (const index of ["messages", "entries"] as const) {
      yield* run(`DELETE FROM ${TABLES[index]} WHERE n NOT IN (SELECT r.n FROM ${ROWS[index]} r)`);
    }
  },
};

// A document without a term may be there or not.
function sumOf(terms: readonly string[], length: number): number | null {
  if (terms.length === 0 && length === 0) return null;
  return terms.reduce((sum, term, position) => addTerm(sum, String(term), position), length);
}
