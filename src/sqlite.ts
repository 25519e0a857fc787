import type { EmbeddableStore } from "./storage/embeddings/contract.js";
import type { SqliteClient } from "./storage/sqlite/client.js";
import { openSqlite, type SqliteOptions } from "./storage/sqlite/open-sqlite.js";

export type { SqliteClient, SqliteStatement } from "./storage/sqlite/client.js";
export type { SqliteOptions } from "./storage/sqlite/open-sqlite.js";

/**
 * A store in a SQLite file. Opens the path `source`, and makes the file with mode 0600 if there is none (`":memory:"`: no
 * file). Or uses a database of better-sqlite3, node:sqlite, bun:sqlite or libsql that you opened, with your settings;
 * `close()` closes that too. Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED`, `DRIVER_MISSING`, `STORE_FAILED`; at the first
 * use also `NOT_A_DATABASE`, `DATABASE_TOO_NEW`, `STORE_LOCKED`; at any use `STORE_REPLACED`.
 */
export function sqlite(source: string | SqliteClient, options: SqliteOptions = {}): EmbeddableStore {
  return openSqlite("sqlite", source, options);
}
