import { APPEND, EDITED, PATH } from "../../sql/functions.js";
import { UNIQUE_NUMBER } from "../functions.js";
import type { PostgresMigration } from "../migration.js";

/**
 * The registry is keyed by a session's id. Its number comes from a sequence, which goes on where the column's own stood. A key
 * in which an owner put a tenant before the id becomes the primary one.
 */
const KEY_SESSIONS = `DO $$ DECLARE
  sessions CONSTANT REGCLASS := 'assistant_sessions'::regclass;
  last BIGINT;
  numbered TEXT;
  named RECORD;
BEGIN
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = sessions AND attname = 'no' AND attidentity <> '') THEN
    last := pg_sequence_last_value(pg_get_serial_sequence('assistant_sessions', 'no')::regclass);
    IF last IS NOT NULL THEN PERFORM setval('assistant_session_no', last); END IF;
    ALTER TABLE assistant_sessions ALTER COLUMN no DROP IDENTITY;
    ALTER TABLE assistant_sessions ALTER COLUMN no SET DEFAULT assistant_number();
  END IF;
  SELECT conname INTO numbered FROM pg_constraint
    WHERE conrelid = sessions AND contype = 'p' AND pg_get_constraintdef(oid) = 'PRIMARY KEY (no)';
  IF numbered IS NOT NULL THEN
    SELECT conname, substring(pg_get_constraintdef(oid) FROM '\\([^)]*\\)') AS columns INTO named FROM pg_constraint
      WHERE conrelid = sessions AND contype = 'u' AND (
        SELECT attnum FROM pg_attribute WHERE attrelid = sessions AND attname = 'id') = ANY (conkey)
      ORDER BY cardinality(conkey) LIMIT 1;
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', sessions, numbered);
    IF named.conname IS NOT NULL THEN
      EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', sessions, named.conname);
    END IF;
    EXECUTE format('ALTER TABLE %s ADD CONSTRAINT assistant_sessions_pkey PRIMARY KEY %s', sessions,
      coalesce(named.columns, '(id)'));
    ALTER TABLE assistant_sessions ADD CONSTRAINT assistant_sessions_no_key UNIQUE (no);
  END IF;
END $$`;

/**
 * Version 12. Nothing but a session's id is a key of its rows, and no trigger looks after them: so the tables can be
 * spread over servers by session.
 */
export const keySessions: PostgresMigration = {
  definitions: [
    "CREATE SEQUENCE IF NOT EXISTS assistant_session_no",
    UNIQUE_NUMBER,
    KEY_SESSIONS,
    `DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'assistant_sessions'::regclass AND tgname = 'assistant_sessions_before_insert') THEN
    DROP TRIGGER assistant_sessions_before_insert ON assistant_sessions;
  END IF;
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'assistant_messages'::regclass AND tgname = 'mark_edited_vectors') THEN
    DROP TRIGGER mark_edited_vectors ON assistant_messages;
  END IF;
END $$`,
    "DROP FUNCTION IF EXISTS assistant_registering()",
    "DROP FUNCTION IF EXISTS assistant_vectors_edited()",
    EDITED,
    APPEND,
    PATH,
  ],
};
