import { documentTerms } from "../../model/terms.js";
import { addTerm, type CheckDialect } from "../check/dialect.js";
import type { SearchIndex } from "../engine/dialect.js";
import { all, run } from "../engine/operation.js";
import { SPAN } from "../operations/row-id.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };
const ROWS: Record<SearchIndex, string> = { messages: "assistant_messages", entries: "cf_agents_search_entries" };
const PAGE = 1_000;

/**
 * True for a row `d` that names another session than the one that it is of. Where that is not there, nothing can be told. Of
 * tables that are spread each server looks for the document under the session that is named.
 */
const MISNAMED: Record<SearchIndex, string> = {
  messages: `EXISTS (SELECT FROM assistant_sessions s WHERE s.no = d.n / ${SPAN} AND s.id <> d.session_id)`,
  entries: "EXISTS (SELECT FROM cf_agents_search_entries e WHERE e.n = d.n AND e.session_id <> d.session_id)",
};
const BESIDE = (index: SearchIndex) => `LEFT JOIN ${ROWS[index]} r ON r.session_id = d.session_id AND r.n = d.n`;
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
    const [misnamed, beside] = isSpread ? ["r.n IS NULL", BESIDE(index)] : [MISNAMED[index], ""];
    const found = new Map<number, number>();
    for (let from = lo; ; ) {
      const rows = yield* all<{ n: number; length: number; terms: string; misnamed: boolean }>(
        `SELECT d.n AS n, d.length AS length, to_json(d.terms)::text AS terms, ${misnamed} AS misnamed
         FROM ${TABLES[index]} d ${beside} WHERE d.n BETWEEN ? AND ? ORDER BY d.n LIMIT ${PAGE}`,
        from,
        hi,
      );
      for (const { n: rowId, length, terms, misnamed } of rows) {
        const list = JSON.parse(terms) as string[];
        // Where rows are spread, another session may have one of the same number.
        const sum = misnamed || found.get(rowId) === MISNAMED_SUM ? MISNAMED_SUM : sumOf(list, length);
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
  *emptyIndex({ isSpread }) {
    // Rows that are there are written over, since an owner's columns stand in them.
    for (const index of ["messages", "entries"] as const) {
      const isThere = isSpread ? "d.session_id = r.session_id AND d.n = r.n" : "d.n = r.n";
      yield* run(`DELETE FROM ${TABLES[index]} d WHERE NOT EXISTS (SELECT FROM ${ROWS[index]} r WHERE ${isThere})`);
    }
  },
};

// A document without a term may be there or not.
function sumOf(terms: readonly string[], length: number): number | null {
  if (terms.length === 0 && length === 0) return null;
  return terms.reduce((sum, term, position) => addTerm(sum, String(term), position), length);
}
