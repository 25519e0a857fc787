import type { EmbeddableStore } from "./embeddings/contract.js";
import { openSqlite, type SqliteOptions, type SqliteSource } from "./sqlite/open-sqlite.js";

export type { SqliteClient, SqliteStatement } from "./sqlite/client.js";
export type { SqliteOptions, SqliteSource } from "./sqlite/open-sqlite.js";

/**
 * A store in a SQLite file. Opens the path `source`, and makes the file with mode 0600 if there is none (`":memory:"`: no
 * file). Or uses a database of better-sqlite3, node:sqlite, bun:sqlite or libsql that you opened, with your settings, also
 * where a database of Drizzle holds it;
 * `close()` closes that too. Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED`, `DRIVER_MISSING`, `STORE_FAILED`; at the first
 * use also `NOT_A_DATABASE`, `WRONG_KEY`, `DATABASE_TOO_NEW`, `STORE_LOCKED`; at any use `STORE_REPLACED`.
 * @example
 * const store = sqlite("chat.db", { synchronous: "normal" });
 * const session = Session.create(store).forSession("trip");
 */
export function sqlite(source: SqliteSource, options: SqliteOptions = {}): EmbeddableStore {
  return openSqlite("sqlite", source, options);
}

export { isForeign } from "./sqlite/is-foreign.js";
