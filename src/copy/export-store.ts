import type { Store } from "../storage/contract.js";
import { writeParts } from "./jsonl-parts.js";
import { storeSource } from "./store-source.js";

/**
 * All that a store holds, as lines of JSONL with their line ends: what `copyStore(jsonl(bytes), store)` reads elsewhere, as
 * of a Durable Object that sends them as a response.
 */
export function exportStore(store: Store): AsyncGenerator<string> {
  return writeParts(storeSource(store));
}
