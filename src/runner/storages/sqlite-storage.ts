import type { SqliteClient, SqliteOptions } from "../../sqlite.js";
import { StoreSessionStorage } from "./store-session-storage.js";

/**
 * Keeps sessions in a SQLite file, message by message: a turn writes only what is new. It uses the same tables as
 * `sqlite(path)`, so each reads what the other wrote.
 */
export class SqliteSessionStorage extends StoreSessionStorage {
  /** Takes a path or a database that you opened. It is used first at the first call; errors as for `sqlite()` then. */
  constructor(source: string | SqliteClient, options: SqliteOptions = {}) {
    super(async () => {
      const { sqlite } = await import("../../sqlite.js");
      return sqlite(source, options);
    });
  }
}
