import { run } from "@stemma/store";
import { PATH } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/**
 * Version 2. The search index holds terms of Porter 2; until then they were those of the first Porter's rules. It is made anew from
 * the rows, some at a time: the new columns say up to which. `assistant_path`
 * gives no path of rows that do not fit together.
 */
export const indexTerms: PostgresMigration = {
  definitions: [
    `ALTER TABLE assistant_schema
  ADD COLUMN IF NOT EXISTS reindex_messages BIGINT,
  ADD COLUMN IF NOT EXISTS reindex_entries BIGINT`,
    PATH,
  ],
  rows: () => run("UPDATE assistant_schema SET reindex_messages = 0, reindex_entries = 0"),
};
