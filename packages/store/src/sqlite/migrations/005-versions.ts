import { type Operation, run } from "../../engine/operation.js";

/** Version 5. Blocks and entries keep their versions. */
export function* createVersions(): Operation<void> {
  yield* run(`CREATE TABLE IF NOT EXISTS assistant_versions (
     session_id TEXT NOT NULL,
     kind TEXT NOT NULL,
     label TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     content TEXT,
     written_at TEXT NOT NULL,
     author TEXT,
     written_in TEXT,
     message_ids TEXT,
     tool_call_id TEXT,
     PRIMARY KEY (session_id, kind, label, key, version)
   )`);
}
