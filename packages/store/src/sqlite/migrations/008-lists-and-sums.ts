import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";
import { SPAN } from "../../operations/registry/session-head.js";

const LATEST_CHANGE = "CASE WHEN appended_until > updated_at THEN appended_until ELSE updated_at END";

/**
 * Version 8. Sessions are listed by an index: an append dates its session's row, at most once in a second. A session may
 * hold the length of a path, and the number of all its messages up to there, so
 * that only what came later is counted. A compaction holds the tokens of what it covers.
 */
export function* addListsAndSums(sql: Dialect): Operation<void> {
  const columns = yield* sql.columns("assistant_sessions");
  const added = { appended_until: "TEXT", counted_to: "INTEGER", counted: "INTEGER", counted_all: "INTEGER" };
  for (const [name, type] of Object.entries(added)) {
    if (!columns.includes(name)) yield* run(`ALTER TABLE assistant_sessions ADD COLUMN ${name} ${type}`);
  }
  if (!(yield* sql.columns("assistant_compactions")).includes("covered_tokens")) {
    yield* run("ALTER TABLE assistant_compactions ADD COLUMN covered_tokens INTEGER");
  }
  for (const statement of DEFINITIONS) yield* run(statement);
  yield* run(
    `UPDATE assistant_sessions SET updated_at = coalesce((SELECT max(m.created_at, updated_at) FROM assistant_messages m
       WHERE m.n BETWEEN no * ${SPAN} AND no * ${SPAN} + ${SPAN - 1} ORDER BY m.n DESC LIMIT 1), updated_at)`,
  );
}

const DEFINITIONS = [
  `CREATE INDEX IF NOT EXISTS assistant_sessions_change ON assistant_sessions (${LATEST_CHANGE})`,
  "DROP INDEX IF EXISTS assistant_sessions_user",
  `CREATE INDEX IF NOT EXISTS assistant_sessions_of_user ON assistant_sessions (user_id, ${LATEST_CHANGE}) WHERE user_id IS NOT NULL`,
  "CREATE INDEX IF NOT EXISTS assistant_sessions_tokens ON assistant_sessions (input_tokens + output_tokens)",
  "CREATE INDEX IF NOT EXISTS assistant_sessions_cost ON assistant_sessions (estimated_cost)",
  "CREATE INDEX IF NOT EXISTS assistant_compactions_sums ON assistant_compactions (session_id, id, created_at, covered_tokens, tokens)",
];
