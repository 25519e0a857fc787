import type { PostgresMigration } from "../migration.js";

/** Version 7. An entry may have a value beside its text. */
export const addEntryValues: PostgresMigration = {
  definitions: ["ALTER TABLE cf_agents_search_entries ADD COLUMN IF NOT EXISTS value TEXT"],
};
