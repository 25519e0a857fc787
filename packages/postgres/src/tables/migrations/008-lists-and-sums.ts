import { run, SPAN } from "@stemma/store";
import { APPEND } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

const LATEST_CHANGE = "CASE WHEN appended_until > updated_at THEN appended_until ELSE updated_at END";

/**
 * Version 8. Sessions are listed by an index: an append dates its session's row, at most once in a second. A session may
 * hold the length of a path, and the number of all its messages up to there, so
 * that only what came later is counted. A compaction holds the tokens of what it covers.
 */
export const addListsAndSums: PostgresMigration = {
  definitions: [
    `ALTER TABLE assistant_sessions
  ADD COLUMN IF NOT EXISTS appended_until TIMESTAMPTZ,
  ADD COLUMN IF NOT EXISTS counted_to BIGINT,
  ADD COLUMN IF NOT EXISTS counted BIGINT,
  ADD COLUMN IF NOT EXISTS counted_all BIGINT`,
    "ALTER TABLE assistant_compactions ADD COLUMN IF NOT EXISTS covered_tokens BIGINT",
    APPEND,
    `CREATE INDEX IF NOT EXISTS assistant_sessions_change ON assistant_sessions ((${LATEST_CHANGE}), no)`,
    "DROP INDEX IF EXISTS assistant_sessions_user",
    `CREATE INDEX IF NOT EXISTS assistant_sessions_of_user ON assistant_sessions (user_id, (${LATEST_CHANGE}), no) WHERE user_id IS NOT NULL`,
    "CREATE INDEX IF NOT EXISTS assistant_sessions_tokens ON assistant_sessions ((input_tokens + output_tokens), no)",
    "CREATE INDEX IF NOT EXISTS assistant_sessions_cost ON assistant_sessions (estimated_cost, no)",
    "CREATE INDEX IF NOT EXISTS assistant_compactions_sums ON assistant_compactions (session_id, id, created_at, covered_tokens, tokens)",
  ],
  *rows() {
    yield* run(
      `UPDATE assistant_sessions SET updated_at = newest.created_at FROM (
         SELECT s.id, (SELECT m.created_at FROM assistant_messages m WHERE m.session_id = s.id
                       AND m.n BETWEEN s.no * ${SPAN} AND s.no * ${SPAN} + ${SPAN - 1} ORDER BY m.n DESC LIMIT 1) AS created_at
         FROM assistant_sessions s) AS newest
       WHERE newest.id = assistant_sessions.id AND newest.created_at > assistant_sessions.updated_at`,
    );
  },
};
