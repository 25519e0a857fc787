import { column, type Operation, run } from "../engine/operation.js";
import { INDEX_TABLES } from "../engine/search-dialect.js";

/** Several drivers bind numbers as REAL, with which FTS5 cannot narrow a range of row ids. */
export const INTEGER = "CAST(? AS INTEGER)";

// Both make appends cheaper: larger leaves, and merges that are put off for longer.
const SETTINGS = [
  ["pgsz", 1000],
  ["automerge", 8],
] as const;

/** The tables' definition: to this tokenizer each character beyond ASCII is part of a word, so a term is one token. */
export function* createSearchTables(): Operation<void> {
  for (const table of Object.values(INDEX_TABLES)) {
    const query = `CREATE VIRTUAL TABLE IF NOT EXISTS ${table}
       USING fts5(terms, content='', contentless_delete=1, tokenize='ascii')`;
    yield* run(query);
    for (const [setting, value] of SETTINGS) {
      yield* run(`INSERT INTO ${table} (${table}, rank) VALUES ('${setting}', ${INTEGER})`, value);
    }
  }
}

/** How many pages of an index are merged at once. */
const MERGED_PAGES = 100;

/** The names of the indexes' tables. */
export const SEARCH_TABLES = Object.values(INDEX_TABLES);

/** Makes a step towards an index in one part, which holds no term of what was removed. False when none is left. */
export function* mergeSearchTable(table: string, begins: boolean): Operation<boolean> {
  const changes = "SELECT total_changes() AS changes";
  const [before = 0] = yield* column<number>(changes);
  // With a number below 0 all parts are to be merged, not only small ones.
  const pages = begins ? -MERGED_PAGES : MERGED_PAGES;
  yield* run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ${INTEGER})`, pages);
  const [after = 0] = yield* column<number>(changes);
  // The statement itself counts as one.
  return after - before > 1;
}

/** Those of the indexes' tables that are there: none in a database that was never open with search. */
export function* findSearchTables(): Operation<string[]> {
  return yield* column<string>("SELECT name FROM sqlite_master WHERE name IN (?, ?)", ...SEARCH_TABLES);
}

/** Makes the tables anew: other programs that have the database open go on with them. Whoever does so marks every message to be indexed. */
export function* emptySearchTables(): Operation<void> {
  for (const table of Object.values(INDEX_TABLES)) yield* run(`DROP TABLE IF EXISTS ${table}`);
  yield* run("DELETE FROM assistant_unindexed");
  yield* createSearchTables();
}
