import type { Dialect } from "@stemma/store";
import { copyCompactions, copyMessages, first, LATEST_CHANGE, OLD_PREFIX, type Operation, run } from "@stemma/store";
import {
  APPEND,
  APPEND_ALL,
  APPEND_EACH,
  EDITED,
  ENTRY_WRITTEN,
  HITS,
  LOCK,
  MATCHES,
  NEWEST,
  NUMBER,
  PATH,
  RECENT,
  VIEW,
} from "../../sql/functions.js";
import { TAKE_OVER_DOCUMENTS } from "../documents.js";
import type { PostgresMigration } from "../migration.js";
import { qualify } from "../names.js";

const FUNCTIONS = [
  LOCK,
  EDITED,
  ENTRY_WRITTEN,
  APPEND,
  APPEND_ALL,
  APPEND_EACH,
  VIEW,
  PATH,
  RECENT,
  NEWEST,
  MATCHES,
  HITS,
];

/** When a session is registered, in microseconds: it tells a session from others of its number, and from one of its id that is gone. */
const REGISTERED = "(floor(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";

const DEFINITIONS = [
  // How far the search index is made of the rows: of what it records first, nothing is indexed yet.
  `CREATE TABLE IF NOT EXISTS assistant_schema (
  version INTEGER PRIMARY KEY,
  applied_at TIMESTAMPTZ NOT NULL,
  reindex_messages BIGINT DEFAULT 0,
  reindex_session TEXT,
  reindex_entries BIGINT DEFAULT 0
)`,
  // A program may run the documents' DDL each time it starts. It makes indexes on `content_tsv`, which stays empty.
  `CREATE TABLE IF NOT EXISTS assistant_messages (
  n BIGINT NOT NULL,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL DEFAULT '',
  parent_id TEXT,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  text_content TEXT NOT NULL DEFAULT '',
  content_tsv TSVECTOR,
  created_at TIMESTAMPTZ DEFAULT NOW(),
  branch INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  total BIGINT,
  dated_at TEXT,
  PRIMARY KEY (session_id, id)
)`,
  "CREATE UNIQUE INDEX IF NOT EXISTS assistant_messages_n ON assistant_messages (session_id, n)",
  `CREATE TABLE IF NOT EXISTS assistant_branches (
  session_id TEXT NOT NULL,
  no BIGINT NOT NULL,
  branch INTEGER NOT NULL,
  lo BIGINT NOT NULL,
  parent_branch INTEGER,
  parent_n BIGINT,
  PRIMARY KEY (session_id, branch)
)`,
  `CREATE TABLE IF NOT EXISTS assistant_compactions (
  n BIGINT NOT NULL,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL,
  from_message_id TEXT NOT NULL,
  to_message_id TEXT NOT NULL,
  created_at TIMESTAMPTZ DEFAULT NOW(),
  from_n BIGINT,
  to_n BIGINT,
  tokens INTEGER NOT NULL,
  covered_tokens BIGINT,
  PRIMARY KEY (session_id, id)
)`,
  "CREATE UNIQUE INDEX IF NOT EXISTS assistant_compactions_n ON assistant_compactions (session_id, n)",
  "CREATE INDEX IF NOT EXISTS assistant_compactions_sums ON assistant_compactions (session_id, id, created_at, covered_tokens, tokens)",
  NUMBER,
  `CREATE TABLE IF NOT EXISTS assistant_sessions (
  no BIGINT NOT NULL DEFAULT assistant_number(),
  id TEXT PRIMARY KEY,
  registered BIGINT NOT NULL DEFAULT ${REGISTERED},
  name TEXT NOT NULL,
  user_id TEXT,
  parent_session_id TEXT,
  model TEXT,
  source TEXT,
  input_tokens BIGINT NOT NULL DEFAULT 0,
  output_tokens BIGINT NOT NULL DEFAULT 0,
  estimated_cost DOUBLE PRECISION NOT NULL DEFAULT 0,
  end_reason TEXT,
  created_at TIMESTAMPTZ NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL,
  appended_until TIMESTAMPTZ,
  changes BIGINT NOT NULL DEFAULT 0,
  leaf BIGINT,
  stale BIGINT,
  counted_to BIGINT,
  counted BIGINT,
  counted_all BIGINT,
  skills TEXT,
  metadata TEXT,
  learned INTEGER
)`,
  "CREATE INDEX IF NOT EXISTS assistant_sessions_registered ON assistant_sessions (registered, id)",
  `CREATE INDEX IF NOT EXISTS assistant_sessions_change ON assistant_sessions ((${LATEST_CHANGE}), registered, id)`,
  `CREATE INDEX IF NOT EXISTS assistant_sessions_of_user ON assistant_sessions (user_id, (${LATEST_CHANGE}), registered, id) WHERE user_id IS NOT NULL`,
  "CREATE INDEX IF NOT EXISTS assistant_sessions_tokens ON assistant_sessions ((input_tokens + output_tokens), registered, id)",
  "CREATE INDEX IF NOT EXISTS assistant_sessions_cost ON assistant_sessions (estimated_cost, registered, id)",
  "CREATE INDEX IF NOT EXISTS assistant_sessions_parent ON assistant_sessions (parent_session_id) WHERE parent_session_id IS NOT NULL",
  'CREATE INDEX IF NOT EXISTS assistant_sessions_due ON assistant_sessions ((id COLLATE "C")) WHERE learned IS NULL',
  `CREATE TABLE IF NOT EXISTS assistant_media (
  session_id TEXT NOT NULL,
  no BIGINT NOT NULL,
  hash TEXT NOT NULL,
  part INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (session_id, hash, part)
)`,
  `CREATE TABLE IF NOT EXISTS assistant_media_refs (
  session_id TEXT NOT NULL,
  no BIGINT NOT NULL,
  n BIGINT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (session_id, n, hash)
)`,
  `CREATE TABLE IF NOT EXISTS cf_agents_context_blocks (
  session_id TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL DEFAULT 'block',
  label TEXT NOT NULL,
  content TEXT NOT NULL,
  version BIGINT NOT NULL DEFAULT 1,
  updated_at TIMESTAMPTZ DEFAULT NOW(),
  PRIMARY KEY (session_id, kind, label)
)`,
  `CREATE TABLE IF NOT EXISTS cf_agents_search_entries (
  n BIGINT GENERATED BY DEFAULT AS IDENTITY,
  session_id TEXT NOT NULL DEFAULT '',
  label TEXT NOT NULL,
  key TEXT NOT NULL,
  content TEXT NOT NULL,
  content_tsv TSVECTOR,
  value TEXT,
  valid_from TEXT COLLATE "C",
  valid_to TEXT COLLATE "C",
  expires_at TEXT COLLATE "C",
  fact TEXT,
  created_at TIMESTAMPTZ DEFAULT NOW(),
  updated_at TIMESTAMPTZ DEFAULT NOW(),
  PRIMARY KEY (session_id, label, key)
)`,
  "CREATE UNIQUE INDEX IF NOT EXISTS cf_agents_search_entries_n ON cf_agents_search_entries (n, session_id)",
  "CREATE INDEX IF NOT EXISTS assistant_entries_expiry ON cf_agents_search_entries (session_id, expires_at) WHERE expires_at IS NOT NULL",
  `CREATE TABLE IF NOT EXISTS assistant_versions (
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  key TEXT NOT NULL,
  version BIGINT NOT NULL,
  content TEXT,
  written_at TIMESTAMPTZ NOT NULL,
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
  key TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  expires_at BIGINT,
  value BYTEA NOT NULL,
  PRIMARY KEY (session_id, label, key)
)`,
  "CREATE INDEX IF NOT EXISTS assistant_records_expiry ON assistant_records (expires_at) WHERE expires_at IS NOT NULL",
  `CREATE TABLE IF NOT EXISTS assistant_usage (
  session_id TEXT NOT NULL,
  day TEXT NOT NULL,
  model TEXT NOT NULL,
  requests BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cost DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (session_id, day, model)
)`,
  // The collation makes terms cheap to compare, and their index the same in every database. What is added to that is collected
  // in a list, which every search reads from beginning to end, once for each word: by default it may have 4 MB.
  `CREATE TABLE IF NOT EXISTS assistant_fts (
  n BIGINT NOT NULL,
  session_id TEXT NOT NULL,
  length INTEGER NOT NULL,
  terms TEXT[] COLLATE "C" NOT NULL,
  PRIMARY KEY (n, session_id)
)`,
  "CREATE INDEX IF NOT EXISTS assistant_fts_of_session ON assistant_fts (session_id, n)",
  "CREATE INDEX IF NOT EXISTS assistant_fts_terms ON assistant_fts USING GIN (terms) WITH (gin_pending_list_limit = 256)",
  `CREATE TABLE IF NOT EXISTS cf_agents_search_fts (
  n BIGINT NOT NULL,
  session_id TEXT NOT NULL,
  length INTEGER NOT NULL,
  terms TEXT[] COLLATE "C" NOT NULL,
  PRIMARY KEY (n, session_id)
)`,
  "CREATE INDEX IF NOT EXISTS cf_agents_search_fts_terms ON cf_agents_search_fts USING GIN (terms) WITH (gin_pending_list_limit = 256)",
];

// Messages and compactions that were set aside come into the tree. What is indexed comes behind the record.
function* attachRows(sql: Dialect, schema: string | null): Operation<void> {
  const alone = { ...sql, search: null, lockSession: null };
  yield* copyMessages(alone);
  yield* copyCompactions(alone);
  for (const table of [`${OLD_PREFIX}assistant_messages`, `${OLD_PREFIX}assistant_compactions`]) {
    const owned = yield* first<{ may: boolean }>(
      "SELECT pg_has_role(relowner, 'USAGE') AS may FROM pg_class WHERE oid = to_regclass(?)",
      qualify(table, schema),
    );
    if (owned !== undefined) yield* run(`${owned.may ? "DROP TABLE" : "DELETE FROM"} ${table}`);
  }
}

/** Version 1: the tables, from nothing or from those of the documents' DDL. */
export const createTables: PostgresMigration = {
  definitions: [...TAKE_OVER_DOCUMENTS, ...DEFINITIONS, ...FUNCTIONS],
  rows: attachRows,
};
