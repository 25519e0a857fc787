import type { PostgresMigration } from "../migration.js";

/**
 * Version 6. A session counts its changes other than plain appends, and what it used by day and model. What came of a
 * message, and of a session, is found by an index.
 */
export const addChangesAndUsage: PostgresMigration = {
  definitions: [
    "ALTER TABLE assistant_sessions ADD COLUMN IF NOT EXISTS changes BIGINT NOT NULL DEFAULT 0",
    `CREATE TABLE IF NOT EXISTS assistant_usage (
  session_id TEXT NOT NULL,
  day TEXT NOT NULL,
  model TEXT NOT NULL,
  requests BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cost DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (session_id, day, model)
)`,
    "CREATE INDEX IF NOT EXISTS assistant_versions_written ON assistant_versions (written_in) WHERE written_in IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS assistant_sessions_parent ON assistant_sessions (parent_session_id) WHERE parent_session_id IS NOT NULL",
  ],
};
