import { HITS, MATCHES } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/**
 * Version 15. A search is a call that finds its matches, and one that reads the best of them. What they do is planned once for
 * a connection.
 */
export const findMatches: PostgresMigration = { definitions: [MATCHES, HITS] };
