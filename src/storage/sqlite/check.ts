import type { CheckDialect } from "../check/dialect.js";
import { first, type Operation, pause, run } from "../engine/operation.js";
import { INDEX_TABLES, type SearchIndex } from "../engine/search-dialect.js";
import { checkLengths, type IndexEntries, probeTerm, readEntries, sumEntries } from "./index-entries.js";
import { findFaults } from "./integrity.js";
import { emptySearchTables } from "./search-tables.js";

// What the documents would be indexed as stands in an index of its own for a while, made as the real one is.
const TRIAL = "assistant_check_fts";
const TRIAL_TERMS = "assistant_check_terms";
const TERMS: Record<SearchIndex, string> = { messages: "assistant_check_messages", entries: "assistant_check_entries" };

/** What a check asks SQLite. `schema`: where tables can be made for a while. */
export function sqliteCheck({ schema, integrity }: { schema: "temp" | "main"; integrity: boolean }): CheckDialect {
  const drop = function* (): Operation<void> {
    for (const table of [TRIAL_TERMS, TRIAL, ...Object.values(TERMS)]) yield* run(`DROP TABLE IF EXISTS ${table}`);
  };
  // Only a table in "temp" may name the schema of the index.
  const vocabularyOf = (table: string, of: string) =>
    schema === "temp" ? `'${of}', '${table}', 'instance'` : `'${table}', 'instance'`;
  return {
    integrity: integrity ? findFaults : null,
    reindex: () => run("REINDEX"),
    vectorLength: "length(v.vector) / 4",
    indexCheckWrites: schema === "main",
    *open() {
      yield* drop();
      const select = "SELECT sql FROM sqlite_master WHERE name = ?";
      const table = yield* first<{ sql: string }>(select, INDEX_TABLES.messages);
      const made = String(table?.sql).replace(/^CREATE VIRTUAL TABLE \S+/, `CREATE VIRTUAL TABLE ${schema}.${TRIAL}`);
      yield* run(made);
      yield* run(`CREATE VIRTUAL TABLE ${schema}.${TRIAL_TERMS} USING fts5vocab(${vocabularyOf(TRIAL, schema)})`);
      for (const index of ["messages", "entries"] as const) {
        const query = `CREATE VIRTUAL TABLE ${schema}.${TERMS[index]} USING fts5vocab(${vocabularyOf(INDEX_TABLES[index], "main")})`;
        yield* run(query);
      }
    },
    close: drop,
    *indexed(_sql, index, { after, to }) {
      const [lo, hi] = [after.rowId + 1, to?.rowId ?? Number.MAX_SAFE_INTEGER];
      const found = new Map<number, number>();
      const lengths = new Map<number, number>();
      const note = (entries: IndexEntries) => sumEntries(found, entries, lo, hi, lengths);
      yield* readEntries(TERMS[index], note, function* (last) {
        yield* probeTerm(index, last);
        yield* pause();
      });
      yield* checkLengths(index, lengths, lo, hi);
      return found;
    },
    *expected(sql, documents) {
      const found = new Map<number, number>();
      if (sql.search === null || documents.length === 0) return found;
      const given = documents.map(({ n: rowId, text }) => ({ sessionId: "", rowId, document: text }));
      const adding = sql.search.add("messages", given);
      for (let step = adding.next([]); !step.done; step = adding.next([])) {
        yield { ...step.value, sql: step.value.sql.replaceAll(INDEX_TABLES.messages, TRIAL) };
      }
      const note = (entries: IndexEntries) =>
        sumEntries(found, entries, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      yield* readEntries(TRIAL_TERMS, note);
      yield* run(`INSERT INTO ${TRIAL} (${TRIAL}) VALUES ('delete-all')`);
      return found;
    },
    emptyIndex: emptySearchTables,
  };
}
