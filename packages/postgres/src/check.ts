import { documentTerms, keyOf } from "@stemma/model";
import { addTerm, all, type CheckDialect, INDEX_TABLES, run, type SearchIndex, type SqlValue } from "@stemma/store";

const ROWS: Record<SearchIndex, string> = { messages: "assistant_messages", entries: "cf_agents_search_entries" };
const PAGE = 1_000;

/**
 * True for a row `d` of an entry that names another session than the one that it is of. Where that is not there, nothing can be
 * said. Of tables that are spread each server looks for the entry under the session that is named. A message is found by its
 * session: a row that names another one is of no message.
 */
const MISNAMED = "EXISTS (SELECT FROM cf_agents_search_entries e WHERE e.n = d.n AND e.session_id <> d.session_id)";
const BESIDE = "LEFT JOIN cf_agents_search_entries r ON r.session_id = d.session_id AND r.n = d.n";
/** A fingerprint that no document has. */
const MISNAMED_SUM = -1;

/** The part of a check that is special to Postgres, which looks after its own files and indexes. */
export const postgresCheck: CheckDialect = {
  integrity: null,
  *reindex() {},
  vectorLength: "cardinality(v.vector)",
  indexCheckWrites: false,
  // Messages are found by their sessions.
  window: { messages: 5_000, entries: 200_000 },
  *open() {},
  *close() {},
  *indexed({ layout }, index, { after, to }) {
    const isMessage = index === "messages";
    const [misnamed, beside] = isMessage
      ? ["FALSE", ""]
      : layout === "spread"
        ? ["r.n IS NULL", BESIDE]
        : [MISNAMED, ""];
    const [columns, mark, order] = isMessage
      ? ["(d.session_id, d.n)", "(?, ?)", "d.session_id, d.n"]
      : ["d.n", "?", "d.n"];
    const bound = ({ rowId, sessionId }: typeof after): SqlValue[] => (isMessage ? [sessionId, rowId] : [rowId]);
    const found = new Map<number | string, number>();
    for (let from = after; ; ) {
      const rows = yield* all<{ n: number; session_id: string; length: number; terms: string; misnamed: boolean }>(
        `SELECT d.n AS n, d.session_id AS session_id, d.length AS length, to_json(d.terms)::text AS terms, ${misnamed} AS misnamed
         FROM ${INDEX_TABLES[index]} d ${beside} WHERE ${columns} > ${mark}${to === null ? "" : ` AND ${columns} <= ${mark}`}
         ORDER BY ${order} LIMIT ${PAGE}`,
        ...bound(from),
        ...(to === null ? [] : bound(to)),
      );
      for (const { n: rowId, session_id, length, terms, misnamed } of rows) {
        const key = isMessage ? keyOf({ n: rowId, sessionId: session_id }) : rowId;
        const list = JSON.parse(terms) as string[];
        // Where rows are spread, another session may have an entry of the same number.
        const sum = misnamed || found.get(key) === MISNAMED_SUM ? MISNAMED_SUM : sumOf(list, length);
        if (sum !== null) found.set(key, sum);
      }
      const last = rows.at(-1);
      if (last === undefined) return found;
      from = { rowId: last.n, sessionId: last.session_id };
    }
  },
  // biome-ignore lint/correctness/useYield: the terms are made here, not in the database
  *expected(_sql, documents) {
    const found = new Map<number | string, number>();
    for (const document of documents) {
      const terms = documentTerms(document.text);
      const sum = sumOf(terms, terms.length);
      if (sum !== null) found.set(keyOf(document), sum);
    }
    return found;
  },
  *emptyIndex({ layout }) {
    // Rows that are there are written over, since an owner's columns stand in them.
    for (const index of ["messages", "entries"] as const) {
      const isThere =
        layout === "spread" || index === "messages" ? "d.session_id = r.session_id AND d.n = r.n" : "d.n = r.n";
      const removal = `DELETE FROM ${INDEX_TABLES[index]} d WHERE NOT EXISTS (SELECT FROM ${ROWS[index]} r WHERE ${isThere})`;
      yield* run(removal);
    }
  },
};

// A document without a term may be there or not.
function sumOf(terms: readonly string[], length: number): number | null {
  if (terms.length === 0 && length === 0) return null;
  return terms.reduce((sum, term, position) => addTerm(sum, String(term), position), length);
}
