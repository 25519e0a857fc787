import { LATEST_CHANGE } from "@stemma/store";
import { KEY_VECTORS } from "../../search/vectors.js";
import { APPEND, HITS, MATCHES, NUMBER } from "../../sql/functions.js";
import { REGISTERED } from "../functions.js";
import type { PostgresMigration } from "../migration.js";
import { primaryKey } from "../names.js";

const ORDER = "(coalesce(registered, no)), id";

// An index of the registry in an order of its sessions, in the place of the one that an earlier version made.
const index = (name: string, columns: string, where = "") => `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('${name}')
    AND strpos(pg_get_indexdef(i.indexrelid), 'registered') > 0)
  THEN
    DROP INDEX IF EXISTS ${name};
    CREATE INDEX ${name} ON assistant_sessions (${columns}${ORDER})${where};
  END IF;
END $$`;

/**
 * Version 16. A session's number is the minute in which it was registered, and no longer its own: nothing is given out by one
 * place. No row changes. What is found by the session has keys that begin with it, and `registered` orders the sessions.
 */
export const shareNumbers: PostgresMigration = {
  definitions: [
    "ALTER TABLE assistant_sessions DROP CONSTRAINT IF EXISTS assistant_sessions_no_key",
    // Of tables that an earlier version spread.
    "DROP INDEX IF EXISTS assistant_sessions_no",
    NUMBER,
    "DROP SEQUENCE IF EXISTS assistant_session_no",
    "ALTER TABLE assistant_sessions ADD COLUMN IF NOT EXISTS registered BIGINT",
    `ALTER TABLE assistant_sessions ALTER COLUMN registered SET DEFAULT ${REGISTERED}`,
    index("assistant_sessions_registered", ""),
    index("assistant_sessions_change", `(${LATEST_CHANGE}), `),
    index("assistant_sessions_of_user", `user_id, (${LATEST_CHANGE}), `, " WHERE user_id IS NOT NULL"),
    index("assistant_sessions_tokens", "(input_tokens + output_tokens), "),
    index("assistant_sessions_cost", "estimated_cost, "),
    primaryKey("assistant_branches", "session_id, branch", "no"),
    primaryKey("assistant_media", "session_id, hash, part", "no"),
    primaryKey("assistant_media_refs", "session_id, n, hash", "no"),
    "CREATE INDEX IF NOT EXISTS assistant_fts_of_session ON assistant_fts (session_id, n)",
    `DO $$ BEGIN IF to_regclass('assistant_vectors') IS NOT NULL THEN ${KEY_VECTORS} END IF; END $$`,
    // How far an index is made anew: up to the row of this session.
    "ALTER TABLE assistant_schema ADD COLUMN IF NOT EXISTS reindex_session TEXT",
    APPEND,
    "DROP FUNCTION IF EXISTS assistant_matches(BIGINT, BIGINT, TEXT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_hits(TEXT)",
    MATCHES,
    HITS,
  ],
};
