import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";

/**
 * Version 9. The number of a session that was deleted is given to another one: see `nextNumber`. So a program that remembers a
 * session and its number looks whether they still belong together; `registered` tells that also of a session of the same id.
 */
export function* reuseNumbers(sql: Dialect): Operation<void> {
  if ((yield* sql.columns("assistant_sessions")).includes("registered")) return;
  yield* run("ALTER TABLE assistant_sessions ADD COLUMN registered INTEGER");
}
