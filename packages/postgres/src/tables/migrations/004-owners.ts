import type { PostgresMigration } from "../migration.js";

/** Version 4. Sessions belong to users, and have metadata. `assistant_use` makes sure of the user in the statement of an append. */
export const addOwners: PostgresMigration = {
  definitions: [
    `ALTER TABLE assistant_sessions
  ADD COLUMN IF NOT EXISTS user_id TEXT,
  ADD COLUMN IF NOT EXISTS metadata TEXT`,
    "CREATE INDEX IF NOT EXISTS assistant_sessions_user ON assistant_sessions (user_id, updated_at) WHERE user_id IS NOT NULL",
  ],
};
