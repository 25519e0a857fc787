import { existsSync } from "node:fs";
import type { EmbeddableStore } from "./embeddings/contract.js";
import { OLD_PREFIX, OLD_TABLES } from "./operations/upgrade/upgrade.js";
import { type OpenedFile, openSqlite, openWith, type SqliteOptions, type SqliteSource } from "./sqlite/open-sqlite.js";

export type { SqliteClient, SqliteStatement } from "./sqlite/client.js";
export { type OpenedFile, openWith, type SqliteOptions, type SqliteSource } from "./sqlite/open-sqlite.js";

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

const OWN = new Set(["assistant_schema", ...OLD_TABLES.flatMap(({ name }) => [name, `${OLD_PREFIX}${name}`])]);

/**
 * True for a SQLite file that holds something, but no table of ours, and none that `agents` wrote. Nothing is written to the file.
 * False also where it cannot be read: whoever opens it tells why.
 */
export function isForeign(path: string, key?: string): boolean {
  let client: OpenedFile | undefined;
  try {
    // What was written last stands beside the file, and who may write would bring it in with the end. Where nothing does, who may
    // only read would leave files there.
    client = openWith(path, { isReadOnly: existsSync(`${path}-wal`), key });
    const found = client.prepare("SELECT lower(name) AS name FROM sqlite_master").all() as { name: string }[];
    return found.length > 0 && !found.some(({ name }) => OWN.has(name));
  } catch {
    return false;
  } finally {
    client?.close();
  }
}
