import { type Operation, run } from "../../engine/operation.js";

/** Version 3. Bytes by scope and key. */
export function* createRecords(): Operation<void> {
  yield* run(`CREATE TABLE IF NOT EXISTS assistant_records (
     session_id TEXT NOT NULL,
     label TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     expires_at INTEGER,
     value BLOB NOT NULL,
     PRIMARY KEY (session_id, label, key)
   )`);
  yield* run(
    "CREATE INDEX IF NOT EXISTS assistant_records_expiry ON assistant_records (expires_at) WHERE expires_at IS NOT NULL",
  );
}
