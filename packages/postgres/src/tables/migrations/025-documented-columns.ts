import type { PostgresMigration } from "../migration.js";

// An index of nothing but nulls costs each append.
const keepEmpty = (table: string, index: string) => [
  `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS content_tsv TSVECTOR`,
  `DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attname = 'content_tsv' AND attgenerated <> '') THEN
    ALTER TABLE ${table} ALTER COLUMN content_tsv DROP EXPRESSION;
    DROP INDEX IF EXISTS ${index};
  END IF;
END $$`,
];

/**
 * Version 25. The tables have all columns of the documents' DDL, which a program may run each time it starts: its statements make
 * indexes on `content_tsv`. The column stays empty, since what is generated in it refuses texts of more than a megabyte.
 */
export const keepDocumentedColumns: PostgresMigration = {
  definitions: [
    ...keepEmpty("assistant_messages", "idx_assistant_msg_fts"),
    ...keepEmpty("cf_agents_search_entries", "idx_search_entries_fts"),
  ],
};
