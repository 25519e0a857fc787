import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";

/**
 * Version 6. A session counts its changes other than plain appends, and what it used by day and model. What came of a
 * message, and of a session, is found by an index.
 */
export function* addChangesAndUsage(sql: Dialect): Operation<void> {
  const columns = yield* sql.columns("assistant_sessions");
  if (!columns.includes("changes")) {
    yield* run("ALTER TABLE assistant_sessions ADD COLUMN changes INTEGER NOT NULL DEFAULT 0");
  }
  yield* run(`CREATE TABLE IF NOT EXISTS assistant_usage (
     session_id TEXT NOT NULL,
     day TEXT NOT NULL,
     model TEXT NOT NULL,
     requests INTEGER NOT NULL,
     input_tokens INTEGER NOT NULL,
     output_tokens INTEGER NOT NULL,
     cost REAL NOT NULL,
     PRIMARY KEY (session_id, day, model)
   ) WITHOUT ROWID`);
  yield* run(
    "CREATE INDEX IF NOT EXISTS assistant_versions_written ON assistant_versions (written_in) WHERE written_in IS NOT NULL",
  );
  yield* run(
    "CREATE INDEX IF NOT EXISTS assistant_sessions_parent ON assistant_sessions (parent_session_id) WHERE parent_session_id IS NOT NULL",
  );
}
