import { createUnindexedTable } from "../search.js";

/** Version 10. Messages may be indexed later than they are written: see `operations/search/unindexed.ts`. */
export const addUnindexedMessages = createUnindexedTable;
