import { StemmaError } from "../../errors.js";
import { addTerm, type CheckDialect, type EngineFault } from "../check/dialect.js";
import type { SearchIndex } from "../engine/dialect.js";
import { all, first, type Operation, pause, run, tuples } from "../engine/operation.js";
import { rowAfter } from "../operations/damage.js";
import { emptySearchTables } from "./search.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

// What the documents would be indexed as stands in an index of its own for a while, made as the real one is.
const TRIAL = "assistant_check_fts";
const TRIAL_TERMS = "assistant_check_terms";
const TERMS: Record<SearchIndex, string> = {
  messages: "assistant_check_messages",
  entries: "assistant_check_entries",
};

/** How many entries of an index are read at once. */
const ENTRIES = 10_000;
/** How many lengths of documents. */
const LENGTHS = 5_000;

/** Entries of an index, ascending by their terms. */
interface Entries {
  readonly terms: readonly string[];
  readonly docs: readonly number[];
  readonly offsets: readonly number[];
}

// As lists in JSON: the driver takes far longer for a row of its own than the engine. From a term on, behind some of its own.
const ENTRIES_OF = (vocabulary: string) =>
  `SELECT json_group_array(term), json_group_array(doc), json_group_array("offset")
   FROM (SELECT term, doc, "offset" FROM ${vocabulary} WHERE term >= ? LIMIT ${ENTRIES} OFFSET ?)`;

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
      const table = yield* first<{ sql: string }>("SELECT sql FROM sqlite_master WHERE name = ?", TABLES.messages);
      const made = String(table?.sql).replace(/^CREATE VIRTUAL TABLE \S+/, `CREATE VIRTUAL TABLE ${schema}.${TRIAL}`);
      yield* run(made);
      yield* run(`CREATE VIRTUAL TABLE ${schema}.${TRIAL_TERMS} USING fts5vocab(${vocabularyOf(TRIAL, schema)})`);
      for (const index of ["messages", "entries"] as const) {
        yield* run(
          `CREATE VIRTUAL TABLE ${schema}.${TERMS[index]} USING fts5vocab(${vocabularyOf(TABLES[index], "main")})`,
        );
      }
    },
    close: drop,
    *indexed(_sql, index, { after, to }) {
      const [lo, hi] = [after.rowId + 1, to?.rowId ?? Number.MAX_SAFE_INTEGER];
      const found = new Map<number, number>();
      const lengths = new Map<number, number>();
      const note = (entries: Entries) => add(found, entries, lo, hi, lengths);
      yield* readEntries(TERMS[index], note, function* (last) {
        yield* probe(index, last);
        yield* pause();
      });
      yield* holdLengths(index, lengths, lo, hi);
      return found;
    },
    *expected(sql, documents) {
      const found = new Map<number, number>();
      if (sql.search === null || documents.length === 0) return found;
      for (const { n: rowId, text } of documents) {
        if (text === "") continue;
        const { sql: statement, values } = sql.search.add("messages", "", rowId, text);
        yield { sql: statement.replaceAll(TABLES.messages, TRIAL), values };
      }
      const note = (entries: Entries) => add(found, entries, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      yield* readEntries(TRIAL_TERMS, note);
      yield* run(`INSERT INTO ${TRIAL} (${TRIAL}) VALUES ('delete-all')`);
      return found;
    },
    emptyIndex: emptySearchTables,
  };
}

function* readEntries(
  vocabulary: string,
  note: (entries: Entries) => void,
  between?: (last: string) => Operation<void>,
): Operation<void> {
  for (let from = "", passed = 0; ; ) {
    const [lists = []] = yield* tuples<string[]>(ENTRIES_OF(vocabulary), from, passed);
    const [terms = [], docs = [], offsets = []] = lists.map((list) => JSON.parse(list));
    const last = terms.at(-1);
    if (last === undefined) return;
    if (last < from && passed > 0) throw damagedIndex("gives its terms in no order");
    note({ terms, docs, offsets });
    if (between !== undefined) yield* between(last);
    if (terms.length < ENTRIES) return;
    const own = terms.length - terms.indexOf(last);
    passed = last === from ? passed + own : own;
    from = last;
  }
}

function add(
  found: Map<number, number>,
  { terms, docs, offsets }: Entries,
  lo: number,
  hi: number,
  lengths?: Map<number, number>,
): void {
  for (let index = 0; index < docs.length; index += 1) {
    const doc = docs[index] as number;
    if (doc < lo || doc > hi) continue;
    found.set(doc, addTerm(found.get(doc) ?? 0, terms[index] as string, offsets[index] as number));
    lengths?.set(doc, (lengths.get(doc) ?? 0) + 1);
  }
}

// A search goes to a term by other pages than a look at all terms, and ranks by what no such look reads.
function* probe(index: SearchIndex, term: string): Operation<void> {
  const query = `SELECT rowid FROM ${TABLES[index]} WHERE ${TABLES[index]} MATCH ? ORDER BY rank LIMIT 1`;
  if ((yield* first(query, `"${term.replaceAll('"', '""')}"`)) === undefined)
    throw damagedIndex("does not find its terms");
}

// The ranking divides by the number of terms of each document, and by their average: each stands in a table of its own.
function* holdLengths(
  index: SearchIndex,
  lengths: ReadonlyMap<number, number>,
  lo: number,
  hi: number,
): Operation<void> {
  const query = `SELECT id, hex(sz) AS size FROM ${TABLES[index]}_docsize WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${LENGTHS}`;
  let left = lengths.size;
  let rows = 0;
  let sum = 0;
  for (let from = lo; ; ) {
    const page = yield* tuples<[n: number, size: string]>(query, from, hi);
    for (const [rowId, size] of page) {
      const length = lengths.get(rowId) ?? 0;
      if (readVarints(size).join() !== String(length)) throw damagedIndex("has wrong lengths of documents");
      rows += 1;
      sum += length;
      if (length > 0) left -= 1;
    }
    const last = page.at(-1);
    if (last === undefined) break;
    from = rowAfter(last[0], from);
    yield* pause();
  }
  if (left !== 0) throw damagedIndex("lacks lengths of documents");
  const totals = yield* first<{ count: number; block: string | null }>(
    `SELECT count(*) AS count, (SELECT hex(block) FROM ${TABLES[index]}_data WHERE id = 1) AS block FROM ${TABLES[index]}_docsize`,
  );
  const present = totals?.count ?? 0;
  if (present === 0) return;
  const [count = 0, total = 0] = readVarints(totals?.block ?? "");
  // FTS5 goes on counting documents that were deleted.
  if (count < present || (rows === present && total < sum)) throw damagedIndex("has wrong totals");
}

// Numbers as SQLite writes them: seven bits in each byte, of which all but a number's last have the highest bit set.
function readVarints(hex: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  for (let at = 0; at < hex.length; at += 2) {
    const byte = Number.parseInt(hex.slice(at, at + 2), 16);
    value = value * 128 + (byte & 127);
    if (byte >= 128) continue;
    numbers.push(value);
    value = 0;
  }
  return numbers;
}

function damagedIndex(how: string): StemmaError {
  return new StemmaError("STORE_FAILED", {}, `The search index ${how}.`);
}

const INDEX_FAULT = /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index)/;
const SEARCH_FAULT = /inverted index for FTS5|^fts5: /;
const VALUE_FAULT = /^(?:NULL|TEXT|NUMERIC|REAL|INT|BLOB|non-\w+) value (?:in|missing from)/i;

function* findFaults(): Operation<EngineFault[]> {
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
