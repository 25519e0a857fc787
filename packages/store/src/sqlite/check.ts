import { addSum, addTerm, type CheckDialect, type EngineFault, type IndexSums } from "../check/check-dialect.js";
import { PACK } from "../embeddings/signs.js";
import { SIGN_TABLES, type VectorTable } from "../embeddings/vector-bytes.js";
import { INDEX_TABLES, type SearchIndex } from "../engine/dialect.js";
import { all, type Operation, pause, run } from "../engine/operation.js";
import {
  checkLengths,
  entriesOf,
  type IndexEntries,
  probeTerm,
  readEntries,
  readLengths,
  readTotals,
  sumEntries,
} from "./index-entries.js";
import { emptySearchTables, findSearchTables } from "./schema.js";

const TERMS: Record<SearchIndex, string> = { messages: "assistant_check_messages", entries: "assistant_check_entries" };

/** With one look at all of an index; what is noted of each document takes some hundred bytes. */
const WINDOW = 200_000;

/** Lets a check ask SQLite. `schema`: where tables can be made for a while. */
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
    wrongPacks,
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

// Those that lack signs of a vector, and those that have more.
const wrongPacks = (table: VectorTable) => `
  SELECT v.n / ${PACK} AS pack FROM assistant_embedder e CROSS JOIN ${table} v
    LEFT JOIN ${SIGN_TABLES[table]} p ON p.pack = v.n / ${PACK} AND p.embedder = e.no
    WHERE v.embedder = e.no AND substr(p.signs, v.n % ${PACK} * length(v.signs) + 1, length(v.signs)) IS NOT v.signs
  UNION SELECT p.pack FROM assistant_embedder e CROSS JOIN ${SIGN_TABLES[table]} p
    WHERE p.embedder = e.no AND length(replace(p.signs, ' ', '')) <> (SELECT total(length(v.signs)) FROM ${table} v
      WHERE v.n BETWEEN p.pack * ${PACK} AND p.pack * ${PACK} + ${PACK - 1} AND v.embedder = e.no)`;

type ReadIndex = (index: SearchIndex, note: (entries: IndexEntries) => void) => Operation<void>;

/**
 * FTS5 keeps its entries by their terms, so whoever wants those of some documents reads them all. The sums of all windows are
 * made in one look.
 */
function indexSums(readAll: ReadIndex): IndexSums {
  return {
    *indexed(index, ends) {
      const sums = new Array<number>(ends.length + 1).fill(0);
      const lengths = [...sums];
      const add = (list: number[], rowId: number, addTo: (sum: number) => number): void => {
        const window = windowOf(ends, rowId);
        list[window] = addTo(list[window] as number);
      };
      yield* readAll(index, (entries) => {
        for (const [at, rowId] of entries.docs.entries()) {
          add(sums, rowId, (sum) => addEntry(sum, entries, at));
          add(lengths, rowId, (sum) => addSum(sum, weightOf(rowId)));
        }
      });
      const stored = new Array<number>(sums.length).fill(0);
      yield* readLengths(index, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, (rowId, length) =>
        add(stored, rowId, (sum) => addSum(sum, weightOf(rowId) * length)),
      );
      const { present, count } = yield* readTotals(index);
      const isCounted = present === 0 || count >= present;
      return sums.map((sum, window) => (isCounted && lengths[window] === stored[window] ? sum : Number.NaN));
    },
    *expected(sql, documents) {
      const entries = entriesOf(sql, documents);
      return entries.docs.reduce((sum, _, at) => addEntry(sum, entries, at), 0);
    },
  };
}

function windowOf(ends: readonly number[], rowId: number): number {
  let [lo, hi] = [0, ends.length];
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if ((ends[middle] as number) < rowId) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

// A row is a number of up to 53 bits, of which both halves count.
const hashOf = (rowId: number) => mixed(mixed(rowId) ^ Math.floor(rowId / 2 ** 32));

// The same terms in another document are something else.
function addEntry(sum: number, { terms, docs, offsets }: IndexEntries, at: number): number {
  return addTerm(sum, terms[at] as string, mixed(hashOf(docs[at] as number) + (offsets[at] as number)));
}

// A number of 20 bits, so that it can be multiplied by a length.
const weightOf = (rowId: number) => (hashOf(rowId) >>> 12) + 1;

// Of 32 bits, each of which depends on all of the number's lower 32: the last steps of MurmurHash3.
function mixed(number: number): number {
  let hash = number | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

const INDEX_FAULT = /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index)/;
const SEARCH_FAULT = /inverted index for FTS5|^fts5: /;
const VALUE_FAULT = /^(?:NULL|TEXT|NUMERIC|REAL|INT|BLOB|non-\w+) value (?:in|missing from)/i;

function* findFaults(): Operation<EngineFault[]> {
  // FTS5 looks at an index as this connection read it last, and finds fault with what others wrote since. A query has it look anew.
  for (const table of yield* findSearchTables()) yield* all(`SELECT rowid FROM ${table} WHERE rowid = -1`);
  const rows = yield* all<Record<string, unknown>>("PRAGMA integrity_check(100)");
  const messages = rows.map((row) => String(Object.values(row)[0])).filter((message) => message !== "ok");
  const types = yield* all<{ name: string; type: string }>(TYPES);
  const changed = types.map(({ name, type }) => `The definition of ${name} is damaged: it is of type "${type}".`);
  return [
    ...messages.map((message) => ({ message, mend: mendOf(message) })),
    ...changed.map((message) => ({ message, mend: "nothing" as const })),
  ];
}

// A type that is none changes what the engine makes of the values that are written; names are given as they stand there.
const TYPES = `SELECT t.name || '.' || c.name AS name, c.type AS type FROM sqlite_master t, pragma_table_info(t.name) c
  WHERE t.type = 'table' AND t.sql NOT LIKE '%VIRTUAL%' AND (t.name LIKE 'assistant%' OR t.name LIKE 'cf_agents%')
  AND t.name NOT LIKE '%fts%' AND (c.type NOT IN ('TEXT', 'INTEGER', 'REAL', 'BLOB') OR c.name <> lower(c.name))`;

function mendOf(message: string): EngineFault["mend"] {
  if (INDEX_FAULT.test(message)) return "reindex";
  if (SEARCH_FAULT.test(message)) return "search";
  return VALUE_FAULT.test(message) ? "rows" : "nothing";
}
