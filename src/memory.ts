import { sqlite } from "./sqlite.js";
import type { EmbeddableStore } from "./storage/embeddings/contract.js";

/**
 * A store that ends with the process, for tests and experiments. It is SQLite without a file, so it behaves like `sqlite()`.
 * Errors: `DRIVER_MISSING`.
 */
export function memory(): EmbeddableStore {
  const name = "memory";
  const store = sqlite(":memory:");
  return {
    ...store,
    name,
    forUser: (userId) => ({ ...store.forUser(userId), name }),
    withEmbedder: (embedder) => ({ ...store.withEmbedder(embedder), name }),
  };
}
