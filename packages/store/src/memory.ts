import { assertKnownOptions } from "@stemma/model";
import type { RedactFunction } from "./contract/store.js";
import type { EmbeddableStore } from "./embeddings/contract.js";
import { openSqlite } from "./sqlite/open-sqlite.js";

export interface MemoryOptions {
  /** Called on each text before it is stored, indexed or embedded: what it gives is stored instead. Default: none. */
  redact?: RedactFunction | undefined;
}

/**
 * A store that ends with the process, for tests and experiments. It is SQLite without a file, so it behaves like `sqlite()`.
 * Errors: `DRIVER_MISSING`, `INVALID_ARGUMENT`.
 * @example
 * const session = Session.create(memory()).withContext("notes");
 */
export function memory(options: MemoryOptions = {}): EmbeddableStore {
  assertKnownOptions(options, "memory()", { redact: true });
  return openSqlite("memory", ":memory:", options);
}
