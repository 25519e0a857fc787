import type { Store } from "../storage/contract.js";
import { assertStore } from "../storage/store-of.js";
import { writeParts } from "./jsonl-parts.js";
import { storeSource } from "./store-source.js";

/**
 * Everything that a store holds, as lines of JSONL with their line ends. `copyStore(jsonl(bytes), store)` reads them elsewhere: a
 * Durable Object can send them as a response. What no call can name, as a user whose id is over
 * today's limit, is left out, and told when all else was exported. Errors: `STORE_UNSUPPORTED`; while it is read, those of the
 * store; at the end `INVALID_ARGUMENT` where something was left out.
 */
export function exportStore(store: Store): AsyncGenerator<string> {
  assertStore(store, "exportStore()");
  return writeParts(storeSource(store));
}
