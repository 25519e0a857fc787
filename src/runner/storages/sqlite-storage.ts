import type { SqliteClient, SqliteOptions } from "../../sqlite.js";
import { StoreSessionStorage } from "./store-session-storage.js";

/**
 * Sessions in a SQLite file, message by message: a turn writes what is new and nothing else. What `sqlite(path)` keeps can
 * be read here, and the other way round.
 */
export class SqliteSessionStorage extends StoreSessionStorage {
  /** A path, or a database that you opened; see `sqlite()`. It is opened at first use. */
  constructor(source: string | SqliteClient, options: SqliteOptions = {}) {
    super(async () => {
      const { sqlite } = await import("../../sqlite.js");
      return sqlite(source, options);
    });
  }
}
