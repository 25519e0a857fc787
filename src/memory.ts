import type { EmbeddableStore } from "./storage/embeddings/contract.js";
import { openSqlite } from "./storage/sqlite/open-sqlite.js";

/**
 * A store that ends with the process, for tests and experiments. It is SQLite without a file, so it behaves like `sqlite()`.
 * Errors: `DRIVER_MISSING`.
 */
export function memory(): EmbeddableStore {
  return openSqlite("memory", ":memory:", {});
}
