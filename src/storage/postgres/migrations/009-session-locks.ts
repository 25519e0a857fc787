import { APPEND, LOCK, REGISTERING, USE } from "../functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 9. Writers of a session that has no row yet, or no more, wait for each other. */
export const lockSessions: PostgresMigration = {
  definitions: [
    LOCK,
    REGISTERING,
    `CREATE OR REPLACE TRIGGER assistant_sessions_before_insert BEFORE INSERT ON assistant_sessions
  FOR EACH ROW EXECUTE FUNCTION assistant_registering()`,
    APPEND,
    USE,
  ],
};
