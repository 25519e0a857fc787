import type { SyncConnection } from "../engine/connection.js";
import type { Dialect } from "../engine/dialect.js";
import { type Migration, runNextMigration } from "../engine/migrations.js";
import { first, type Operation, run } from "../engine/operation.js";
import { indexEverything } from "../operations/search/index-rows.js";
import { SQLITE_MIGRATIONS } from "./migrations/index.js";
import { createSearchTables, dropSearchTables } from "./search.js";

const READ_STATE = "SELECT max(version) AS version, min(indexed) AS indexed FROM assistant_schema";

interface State {
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
    return state?.version === migrations.length && state.indexed === (sql.search === null ? 0 : 1);
  } catch {
    // Whatever it was, the attempt to prepare the tables mends it or tells.
    return false;
  }
}

/** Makes one step towards the present version of the tables: a migration, or what the search index lacks. True when none is left. */
export function* migrateSqlite(sql: Dialect, migrations: readonly Migration[]): Operation<boolean> {
  yield* run(
    `CREATE TABLE IF NOT EXISTS assistant_schema
       (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL, indexed INTEGER NOT NULL DEFAULT 1)`,
  );
  const { version, indexed } = (yield* first<State>(READ_STATE)) as State;
  if (yield* runNextMigration(sql, migrations, version ?? 0)) return false;
  yield* keepIndex(sql, indexed === 1);
  return true;
}

// What is written without search is not in the index, so the next who searches makes the index anew.
function* keepIndex(sql: Dialect, indexed: boolean): Operation<void> {
  if (indexed === (sql.search !== null)) return;
  if (sql.search !== null) {
    yield* dropSearchTables();
    yield* createSearchTables();
    yield* indexEverything(sql.search);
  }
  yield* run("UPDATE assistant_schema SET indexed = ?", indexed ? 0 : 1);
}
