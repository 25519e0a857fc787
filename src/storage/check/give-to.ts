import type { Dialect } from "../engine/dialect.js";
import { type Condition, type Operation, run } from "../engine/operation.js";

/**
 * Makes rows those of session `sessionId`, or renames a session of the registry. Rows that are spread go to that session's server,
 * where no change takes them: they are written there and deleted here. A row that the condition finds there already stays.
 */
export function* giveTo(
  sql: Dialect,
  table: string,
  sessionId: string,
  { condition, values }: Condition,
): Operation<void> {
  const name = table === "assistant_sessions" ? "id" : "session_id";
  if (!sql.isSpread) return yield* run(`UPDATE ${table} SET ${name} = ? WHERE ${condition}`, sessionId, ...values);
  const others = (yield* sql.columns(table)).filter((column) => column !== name).join(", ");
  const elsewhere = `${condition} AND ${name} <> ?`;
  const insertion = `INSERT INTO ${table} (${name}, ${others}) SELECT ?, ${others} FROM ${table} WHERE ${elsewhere}`;
  yield* run(insertion, ...[sessionId, ...values, sessionId]);
  yield* run(`DELETE FROM ${table} WHERE ${elsewhere}`, ...values, sessionId);
}
