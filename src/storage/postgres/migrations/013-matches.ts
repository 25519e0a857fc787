import type { PostgresMigration } from "../migration.js";
import { MATCHES } from "../search-function.js";

/** Version 13. A search finds and counts its matches in one call, whose statements are planned once for a connection. */
export const findMatches: PostgresMigration = { definitions: [MATCHES] };
