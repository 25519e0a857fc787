import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run } from "../../engine/operation.js";
import { setAsideAgentsTables } from "../../operations/upgrade/old-tables.js";
import { upgradeAgentsTables } from "../../operations/upgrade/upgrade.js";

/** Version 1. Tables that `agents` (up to 0.22) wrote are set aside, copied row by row, then dropped. */
export function* createTables(sql: Dialect): Operation<void> {
  yield* setAsideAgentsTables(sql);
  for (const table of TABLES) yield* run(table);
  // The search index is no version's: `keepIndex` makes it of the rows.
  yield* upgradeAgentsTables({ ...sql, search: null });
}

const TABLES = [
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
     UNIQUE (session_id, id)
   )`,
  // AUTOINCREMENT: until version 9 the number of a deleted session was not given to another one.
  `CREATE TABLE IF NOT EXISTS assistant_sessions (
     no INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     parent_session_id TEXT,
     model TEXT,
     source TEXT,
     input_tokens INTEGER NOT NULL DEFAULT 0,
     output_tokens INTEGER NOT NULL DEFAULT 0,
     estimated_cost REAL NOT NULL DEFAULT 0,
     end_reason TEXT,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     leaf INTEGER,
     stale INTEGER,
     skills TEXT
   )`,
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
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL,
     UNIQUE (session_id, label, key)
   )`,
];
