import { APPEND, LOCK } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/**
 * Version 9. Writers of a session that has no row yet, or no more, wait for each other. It made a trigger as well, which
 * version 12 removes; tables that are spread over servers take none.
 */
export const lockSessions: PostgresMigration = { definitions: [LOCK, APPEND] };
