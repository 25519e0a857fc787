import type { PostgresMigration } from "../migration.js";

/**
 * Version 10. Postgres collects what is added to an inverted index in a list, which every search reads from beginning to
 * end, once for each word. It may have 4 MB unless the index says otherwise, which is more than a small store's whole index.
 */
export const shortenPendingLists: PostgresMigration = {
  definitions: ["assistant_fts_terms", "cf_agents_search_fts_terms"].map(
    (index) => `ALTER INDEX IF EXISTS ${index} SET (gin_pending_list_limit = 256)`,
  ),
};
