import { check, defineOptions } from "@stemma/model";
import { checkSettings, type SearchSettings } from "./contract/found.js";
import type { RedactFunction } from "./contract/store.js";
import type { EmbeddableStore } from "./embeddings/contract.js";
import { openSqlite } from "./sqlite/open-sqlite.js";

export interface MemoryOptions {
  /** The texts of messages are searched; the settings say what else. */
  search?: SearchSettings | undefined;
  /** Called on each text before it is stored, indexed or embedded: what it gives is stored instead. Default: none. */
  redact?: RedactFunction | undefined;
}

const OPTIONS = defineOptions<MemoryOptions>({ search: checkSettings, redact: check.callable });

/**
 * A store that ends with the process, for tests and experiments. It is SQLite without a file, so it behaves like `sqlite()`.
 * Errors: `DRIVER_MISSING`, `INVALID_ARGUMENT`.
 * @example
 * const session = Session.create(memory()).withContext("notes");
 */
export function memory(options: MemoryOptions = {}): EmbeddableStore {
  OPTIONS.assert(options, "memory()");
  return openSqlite("memory", ":memory:", options);
}
