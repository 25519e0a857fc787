import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";

/**
 * Version 2. The search index holds terms of Porter 2; until then it held words, which FTS5 stemmed by the first Porter's rules. It is
 * made anew from the rows, some at a time: the new columns say up to which.
 */
export function* indexTerms(sql: Dialect): Operation<void> {
  const columns = yield* sql.columns("assistant_schema");
  for (const name of ["reindex_messages", "reindex_entries"]) {
    if (!columns.includes(name)) yield* run(`ALTER TABLE assistant_schema ADD COLUMN ${name} INTEGER`);
  }
  yield* run("UPDATE assistant_schema SET indexed = 0");
}
