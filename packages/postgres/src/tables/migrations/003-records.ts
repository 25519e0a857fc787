import type { PostgresMigration } from "../migration.js";

/** Version 3. Bytes by scope and key. */
export const createRecords: PostgresMigration = {
  definitions: [
    `CREATE TABLE IF NOT EXISTS assistant_records (
  session_id TEXT NOT NULL,
  label TEXT NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  expires_at BIGINT,
  value BYTEA NOT NULL,
  PRIMARY KEY (session_id, label, key)
)`,
    "CREATE INDEX IF NOT EXISTS assistant_records_expiry ON assistant_records (expires_at) WHERE expires_at IS NOT NULL",
  ],
};
