import { SPAN } from "@stemma/store";
import { NAME_VECTORS } from "../../search/vectors.js";
import { APPEND, PATH } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";
import { lacks, primaryKey } from "../names.js";

// What is indexed is written anew, so its inverted index is made anew behind that: row by row it would take ten times as long.
const indexAnew = (table: string) => ({
  before: `DROP INDEX IF EXISTS ${table}_terms;`,
  // Written once more, without the rows of before: a search tells from the size of the table how many documents there are.
  after: `ALTER TABLE ${table} ALTER COLUMN session_id TYPE TEXT USING session_id || '';
    CREATE INDEX ${table}_terms ON ${table} USING GIN (terms) WITH (gin_pending_list_limit = 256);`,
});

/** Names the session of each row of a table. Rows of a session that is in no table, damage that a check removes, get "". */
function nameSession(
  table: string,
  found: readonly string[],
  index: { readonly before: string; readonly after: string } = { before: "", after: "" },
): string {
  const updates = found.map((from) => `UPDATE ${table} d SET session_id = ${from};`);
  return `DO $$ BEGIN
  IF ${lacks(table, "session_id")} THEN
    ALTER TABLE ${table} ADD COLUMN session_id TEXT;
    ${[index.before, ...updates, `UPDATE ${table} SET session_id = '' WHERE session_id IS NULL;`].join("\n    ")}
    ALTER TABLE ${table} ALTER COLUMN session_id SET NOT NULL;
    ${index.after}
  END IF;
END $$`;
}

const registered = (number: string) => `s.id FROM assistant_sessions s WHERE s.no = ${number}`;
const unregistered = (number: string) => `(
      SELECT m.session_id FROM assistant_messages m WHERE m.n / ${SPAN} = ${number} LIMIT 1) WHERE d.session_id IS NULL`;

const ofNumber = [registered("d.no"), unregistered("d.no")];

// True where an index on row ids does not name the session. One with more columns stays: an owner may put a tenant before them.
const isNumbered = (table: string) =>
  `NOT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('${table}_n') AND i.indnatts > 1)`;

// Makes an index on row ids one that begins or ends with the session.
function index(table: string, columns: string): string {
  return `DO $$ BEGIN
  IF ${isNumbered(table)} THEN
    DROP INDEX IF EXISTS ${table}_n;
    CREATE UNIQUE INDEX ${table}_n ON ${table} (${columns});
  END IF;
END $$`;
}

/**
 * Version 11. Each row names its session, in a column and in its keys, and each statement of one session says it. Row ids still
 * begin with the session's number.
 */
export const nameSessions: PostgresMigration = {
  definitions: [
    // It needs the index that is made anew.
    `DO $$ BEGIN
  IF to_regclass('assistant_vectors') IS NOT NULL AND ${isNumbered("assistant_messages")} THEN
    ALTER TABLE assistant_vectors DROP CONSTRAINT IF EXISTS assistant_vectors_n_fkey;
  END IF;
END $$`,
    nameSession("assistant_branches", ofNumber),
    primaryKey("assistant_branches", "session_id, branch"),
    nameSession("assistant_media", ofNumber),
    primaryKey("assistant_media", "session_id, hash, part"),
    nameSession("assistant_media_refs", ofNumber),
    primaryKey("assistant_media_refs", "session_id, n, hash"),
    nameSession(
      "assistant_fts",
      [registered(`d.n / ${SPAN}`), "m.session_id FROM assistant_messages m WHERE m.n = d.n AND d.session_id IS NULL"],
      indexAnew("assistant_fts"),
    ),
    primaryKey("assistant_fts", "n, session_id"),
    nameSession(
      "cf_agents_search_fts",
      ["e.session_id FROM cf_agents_search_entries e WHERE e.n = d.n"],
      indexAnew("cf_agents_search_fts"),
    ),
    primaryKey("cf_agents_search_fts", "n, session_id"),
    index("assistant_messages", "session_id, n"),
    index("assistant_compactions", "session_id, n"),
    "ALTER TABLE cf_agents_search_entries DROP CONSTRAINT IF EXISTS cf_agents_search_entries_n_key",
    index("cf_agents_search_entries", "n, session_id"),
    `DO $$ BEGIN IF to_regclass('assistant_vectors') IS NOT NULL THEN ${NAME_VECTORS} END IF; END $$`,
    APPEND,
    PATH,
  ],
};
