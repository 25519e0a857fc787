import type { Store } from "../storage/contract.js";
import { assertStore } from "../storage/store-of.js";
import { writeParts } from "./jsonl-parts.js";
import { storeSource } from "./store-source.js";

/**
 * Everything that a store holds, as lines of JSONL with their line ends. `copyStore(jsonl(bytes), store)` reads them elsewhere: a
 * Durable Object can send them as a response. Errors: `STORE_UNSUPPORTED`; while it is read, those of the store.
 */
export function exportStore(store: Store): AsyncGenerator<string> {
  assertStore(store, "exportStore()");
  return writeParts(storeSource(store));
}
