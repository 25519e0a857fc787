import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";

/** Version 4. Sessions belong to users, and have metadata. */
export function* addOwners(sql: Dialect): Operation<void> {
  const columns = yield* sql.columns("assistant_sessions");
  for (const name of ["user_id", "metadata"]) {
    if (!columns.includes(name)) yield* run(`ALTER TABLE assistant_sessions ADD COLUMN ${name} TEXT`);
  }
  yield* run(
    "CREATE INDEX IF NOT EXISTS assistant_sessions_user ON assistant_sessions (user_id, updated_at) WHERE user_id IS NOT NULL",
  );
}
