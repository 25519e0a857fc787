import { sqlite } from "./sqlite.js";
import type { EmbeddableStore } from "./storage/embeddings/contract.js";

/** Sessions that end with the process, for tests and trials: SQLite without a file, so that it behaves like one with a file. */
export function memory(): EmbeddableStore {
  const name = "memory";
  const store = sqlite(":memory:");
  return { ...store, name, withEmbedder: (embedder) => ({ ...store.withEmbedder(embedder), name }) };
}
