import type { SyncConnection } from "../engine/connection.js";
import { type Dialect, INDEX_TABLES } from "../engine/dialect.js";
import { type Migration, runNextMigration } from "../engine/migrations.js";
import { column, first, type Operation, oneNumber, run } from "../engine/operation.js";
import { DATA_TABLES, SHARED_TABLES, tablesMissing } from "../engine/tables.js";
import { type Marks, markAllUnindexed, READ_MARKS, reindexSome } from "../operations/search/reindex.js";
import { SQLITE_MIGRATIONS } from "./migrations/index.js";

const names = (tables: readonly string[]) => tables.map((name) => `'${name}'`).join(", ");
/** Reads no row, and fails where a table with data is not there. */
const EACH_TABLE = DATA_TABLES.map((name) => `(SELECT count(*) FROM ${name} WHERE 0)`).join(" + ");

const READ_STATE = `SELECT max(version) AS version, min(indexed) AS indexed, ${READ_MARKS}, ${EACH_TABLE} AS none FROM assistant_schema`;

// What it records first is not in the search index yet.
const RECORD = `CREATE TABLE IF NOT EXISTS assistant_schema (
     version INTEGER PRIMARY KEY,
     applied_at TEXT NOT NULL,
     indexed INTEGER NOT NULL DEFAULT 0,
     reindex_messages INTEGER,
     reindex_entries INTEGER
   )`;

interface State extends Marks {
  readonly version: number | null;
  /** 0 when something was written that is not in the search index. */
  readonly indexed: number | null;
}

/** True when the tables are of the present version and the index is as `sql` wants it. Takes no lock. */
export function isPrepared(
  sql: Dialect,
  connection: SyncConnection,
  migrations: readonly Migration[] = SQLITE_MIGRATIONS,
): boolean {
  try {
    const [state] = connection.query({ sql: READ_STATE, values: [] }) as unknown as State[];
    if (state?.version !== migrations.length) return false;
    return sql.search === null ? state.indexed === 0 : isIndexed(state);
  } catch {
    // Whatever it was, the attempt to prepare the tables mends it or tells.
    return false;
  }
}

const isIndexed = ({ indexed, messages, entries }: State) => indexed === 1 && messages === null && entries === null;

/** Makes one step towards the present version of the tables: a migration, or some of what the search index lacks. True when none is left. */
export function* migrateSqlite(sql: Dialect, migrations: readonly Migration[]): Operation<boolean> {
  const isNew = (yield* sql.columns("assistant_schema")).length === 0;
  yield* run(RECORD);
  const recorded = yield* oneNumber("SELECT max(version) AS version FROM assistant_schema");
  if (isNew) yield* assertNew();
  if (yield* runNextMigration(sql, migrations, recorded)) return false;
  return yield* keepIndex(sql);
}

// The record is made before the tables, so where they are and it is not it was dropped. A table that is missing beside it is
// told by the statement that looks for each.
function* assertNew(): Operation<void> {
  const found = yield* column<string>(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (${names(DATA_TABLES)})`,
  );
  const left = found.filter((name) => !SHARED_TABLES.includes(name));
  if (left.length === 0) return;
  const missing = ["assistant_schema", ...DATA_TABLES].filter((name) => !found.includes(name));
  throw tablesMissing(missing, `${left.slice(0, 3).join(", ")} ${left.length === 1 ? "is" : "are"} still there`);
}

// What is written without search is not in the index, so the next who searches makes the index anew.
function* keepIndex(sql: Dialect): Operation<boolean> {
  const state = (yield* first<State>(READ_STATE)) as State;
  if (sql.search === null) {
    if (state.indexed !== 0) yield* markIndexed(0);
    return true;
  }
  if (isIndexed(state)) return true;
  if (state.indexed === 0) {
    yield* emptySearchTables();
    yield* markAllUnindexed(sql);
    yield* markIndexed(1);
  }
  return yield* reindexSome(sql, sql.search);
}

function* markIndexed(indexed: 0 | 1): Operation<void> {
  yield* run("UPDATE assistant_schema SET indexed = ?", indexed);
}

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
