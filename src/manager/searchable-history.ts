import { type SearchProvider, searchesMessages } from "../context/provider.js";
import type { Store } from "../storage/contract.js";
import { formatHits } from "../tools/format-hits.js";

const MAX_RESULTS = 10;

/** A block that finds messages of every session of a store. */
export function searchableHistory(store: Store): SearchProvider {
  const provider: SearchProvider = {
    get: async () => {
      const count = await store.sessions.count();
      return `${count} ${count === 1 ? "session" : "sessions"} available for search.`;
    },
    search: async (query) => {
      const hits = await store.search(query, { limit: MAX_RESULTS });
      return hits.length === 0 ? null : formatHits(hits, query);
    },
  };
  searchesMessages.add(provider);
  return provider;
}
