import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";

/** Version 7. An entry may have a value beside its text. */
export function* addEntryValues(sql: Dialect): Operation<void> {
  const columns = yield* sql.columns("cf_agents_search_entries");
  if (!columns.includes("value")) yield* run("ALTER TABLE cf_agents_search_entries ADD COLUMN value TEXT");
}
