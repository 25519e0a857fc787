import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";
import { LATEST_CHANGE } from "../../operations/registry/session-head.js";
import { setAsideAgentsTables, upgradeAgentsTables } from "../../operations/upgrade/upgrade.js";

/** Version 1. Tables that `agents` (up to 0.22) wrote are set aside, copied row by row, then dropped. */
export function* createTables(sql: Dialect): Operation<void> {
  yield* setAsideAgentsTables(sql);
  for (const definition of DEFINITIONS) yield* run(definition);
  // The search index is no version's: `keepIndex` makes it of the rows.
  yield* upgradeAgentsTables({ ...sql, search: null });
}

const DEFINITIONS = [
  // A message's content is its last column, so that the others are read without it.
  `CREATE TABLE IF NOT EXISTS assistant_messages (
     n INTEGER PRIMARY KEY,
     id TEXT NOT NULL,
     session_id TEXT NOT NULL DEFAULT '',
     parent_id TEXT,
     role TEXT NOT NULL,
     created_at TEXT NOT NULL,
     branch INTEGER NOT NULL,
     tokens INTEGER NOT NULL,
     total INTEGER,
     dated_at TEXT,
     content TEXT NOT NULL
   )`,
  "CREATE UNIQUE INDEX IF NOT EXISTS assistant_messages_id ON assistant_messages (session_id, id)",
  `CREATE TABLE IF NOT EXISTS assistant_branches (
     no INTEGER NOT NULL,
     branch INTEGER NOT NULL,
     lo INTEGER NOT NULL,
     parent_branch INTEGER,
     parent_n INTEGER,
     PRIMARY KEY (no, branch)
   ) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS assistant_compactions (
     n INTEGER PRIMARY KEY,
     id TEXT NOT NULL,
     session_id TEXT NOT NULL DEFAULT '',
     summary TEXT NOT NULL,
     from_message_id TEXT NOT NULL,
     to_message_id TEXT NOT NULL,
     created_at TEXT NOT NULL,
     from_n INTEGER,
     to_n INTEGER,
     tokens INTEGER NOT NULL,
     covered_tokens INTEGER,
     UNIQUE (session_id, id)
   )`,
  "CREATE INDEX IF NOT EXISTS assistant_compactions_sums ON assistant_compactions (session_id, id, created_at, covered_tokens, tokens)",
  // The number of a session that was deleted is given to another one; when each was registered tells them apart.
  `CREATE TABLE IF NOT EXISTS assistant_sessions (
     no INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     registered INTEGER NOT NULL,
     name TEXT NOT NULL,
     user_id TEXT,
     parent_session_id TEXT,
     model TEXT,
     source TEXT,
     input_tokens INTEGER NOT NULL DEFAULT 0,
     output_tokens INTEGER NOT NULL DEFAULT 0,
     estimated_cost REAL NOT NULL DEFAULT 0,
     end_reason TEXT,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     appended_until TEXT,
     changes INTEGER NOT NULL DEFAULT 0,
     leaf INTEGER,
     stale INTEGER,
     counted_to INTEGER,
     counted INTEGER,
     counted_all INTEGER,
     skills TEXT,
     metadata TEXT,
     learned INTEGER
   )`,
  `CREATE INDEX IF NOT EXISTS assistant_sessions_change ON assistant_sessions (${LATEST_CHANGE})`,
  `CREATE INDEX IF NOT EXISTS assistant_sessions_of_user ON assistant_sessions (user_id, ${LATEST_CHANGE}) WHERE user_id IS NOT NULL`,
  "CREATE INDEX IF NOT EXISTS assistant_sessions_tokens ON assistant_sessions (input_tokens + output_tokens)",
  "CREATE INDEX IF NOT EXISTS assistant_sessions_cost ON assistant_sessions (estimated_cost)",
  "CREATE INDEX IF NOT EXISTS assistant_sessions_parent ON assistant_sessions (parent_session_id) WHERE parent_session_id IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS assistant_sessions_due ON assistant_sessions (id) WHERE learned IS NULL",
  `CREATE TABLE IF NOT EXISTS assistant_media (
     no INTEGER NOT NULL,
     hash TEXT NOT NULL,
     part INTEGER NOT NULL,
     data TEXT NOT NULL,
     PRIMARY KEY (no, hash, part)
   )`,
  `CREATE TABLE IF NOT EXISTS assistant_media_refs (
     no INTEGER NOT NULL,
     n INTEGER NOT NULL,
     hash TEXT NOT NULL,
     PRIMARY KEY (no, n, hash)
   ) WITHOUT ROWID`,
  // Messages that are not in the search index yet.
  "CREATE TABLE IF NOT EXISTS assistant_unindexed (n INTEGER PRIMARY KEY)",
  `CREATE TABLE IF NOT EXISTS cf_agents_context_blocks (
     session_id TEXT NOT NULL DEFAULT '',
     kind TEXT NOT NULL DEFAULT 'block',
     label TEXT NOT NULL,
     content TEXT NOT NULL,
     version INTEGER NOT NULL DEFAULT 1,
     updated_at TEXT NOT NULL,
     PRIMARY KEY (session_id, kind, label)
   )`,
  `CREATE TABLE IF NOT EXISTS cf_agents_search_entries (
     n INTEGER PRIMARY KEY AUTOINCREMENT,
     session_id TEXT NOT NULL DEFAULT '',
     label TEXT NOT NULL,
     key TEXT NOT NULL,
     content TEXT NOT NULL,
     value TEXT,
     valid_from TEXT,
     valid_to TEXT,
     expires_at TEXT,
     fact TEXT,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     UNIQUE (session_id, label, key)
   )`,
  "CREATE INDEX IF NOT EXISTS assistant_entries_expiry ON cf_agents_search_entries (session_id, expires_at) WHERE expires_at IS NOT NULL",
  `CREATE TABLE IF NOT EXISTS assistant_versions (
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
     fact TEXT,
     PRIMARY KEY (session_id, kind, label, key, version)
   )`,
  "CREATE INDEX IF NOT EXISTS assistant_versions_written ON assistant_versions (written_in) WHERE written_in IS NOT NULL",
  `CREATE TABLE IF NOT EXISTS assistant_records (
     session_id TEXT NOT NULL,
     label TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     expires_at INTEGER,
     value BLOB NOT NULL,
     PRIMARY KEY (session_id, label, key)
   )`,
  "CREATE INDEX IF NOT EXISTS assistant_records_expiry ON assistant_records (expires_at) WHERE expires_at IS NOT NULL",
  `CREATE TABLE IF NOT EXISTS assistant_usage (
     session_id TEXT NOT NULL,
     day TEXT NOT NULL,
     model TEXT NOT NULL,
     requests INTEGER NOT NULL,
     input_tokens INTEGER NOT NULL,
     output_tokens INTEGER NOT NULL,
     cost REAL NOT NULL,
     PRIMARY KEY (session_id, day, model)
   ) WITHOUT ROWID`,
];
