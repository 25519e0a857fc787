import type { CheckDialect } from "../check/dialect.js";
import { type Operation, pause, run } from "../engine/operation.js";
import { INDEX_TABLES, type SearchIndex } from "../engine/search-dialect.js";
import { checkLengths, entriesOf, type IndexEntries, probeTerm, readEntries, sumEntries } from "./index-entries.js";
import { indexSums } from "./index-sums.js";
import { findFaults } from "./integrity.js";
import { emptySearchTables } from "./search-tables.js";

const TERMS: Record<SearchIndex, string> = { messages: "assistant_check_messages", entries: "assistant_check_entries" };

/** With one look at all of an index; what is noted of each document takes some hundred bytes. */
const WINDOW = 200_000;

/** What a check asks SQLite. `schema`: where tables can be made for a while. */
export function sqliteCheck({ schema, integrity }: { schema: "temp" | "main"; integrity: boolean }): CheckDialect {
  const drop = function* (): Operation<void> {
    for (const table of Object.values(TERMS)) yield* run(`DROP TABLE IF EXISTS ${table}`);
  };
  // Only a table in "temp" may name the schema of the index.
  const vocabularyOf = (table: string) =>
    schema === "temp" ? `main, '${table}', 'instance'` : `'${table}', 'instance'`;
  const readAll = (index: SearchIndex, note: (entries: IndexEntries) => void): Operation<void> =>
    readEntries(TERMS[index], note, function* (last) {
      yield* probeTerm(index, last);
      yield* pause();
    });
  return {
    integrity: integrity ? findFaults : null,
    reindex: () => run("REINDEX"),
    vectorLength: "length(v.vector) / 4",
    indexCheckWrites: schema === "main",
    window: { messages: WINDOW, entries: WINDOW },
    *open() {
      yield* drop();
      for (const index of ["messages", "entries"] as const) {
        const vocabulary = vocabularyOf(INDEX_TABLES[index]);
        yield* run(`CREATE VIRTUAL TABLE ${schema}.${TERMS[index]} USING fts5vocab(${vocabulary})`);
      }
    },
    close: drop,
    *indexed(_sql, index, { after, to }) {
      const [lo, hi] = [after.rowId + 1, to?.rowId ?? Number.MAX_SAFE_INTEGER];
      const found = new Map<number, number>();
      const lengths = new Map<number, number>();
      yield* readAll(index, (entries) => sumEntries(found, entries, lo, hi, lengths));
      yield* checkLengths(index, lengths, lo, hi, found);
      return found;
    },
    // biome-ignore lint/correctness/useYield: the terms are made here, not in the database
    *expected(sql, documents) {
      const found = new Map<number, number>();
      sumEntries(found, entriesOf(sql, documents), Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      return found;
    },
    sums: indexSums(readAll),
    emptyIndex: emptySearchTables,
  };
}
