import { SESSION_OWNED } from "./error.js";

/**
 * `assistant_use` makes sure that a session, which it registers if it must, is a user's: one of nobody becomes theirs. It comes
 * before an append in the same call, and locks the session first.
 */
export const USE = `CREATE OR REPLACE FUNCTION assistant_use(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ)
RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  owner TEXT;
BEGIN
  SELECT s.user_id INTO owner FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM assistant_lock(p_session);
    INSERT INTO assistant_sessions (id, name, user_id, created_at, updated_at)
      VALUES (p_session, p_session, p_user, p_now, p_now) ON CONFLICT DO NOTHING;
    SELECT s.user_id INTO STRICT owner FROM assistant_sessions s WHERE s.id = p_session;
  END IF;
  IF owner IS NULL THEN
    UPDATE assistant_sessions SET user_id = p_user WHERE id = p_session;
  ELSIF owner <> p_user THEN
    RAISE EXCEPTION 'session of another user' USING ERRCODE = '${SESSION_OWNED}', DETAIL = p_session;
  END IF;
  RETURN TRUE;
END $$`;

/** The same appends by a user: see `assistant_use`. One function each, so that the server which has the session runs all of it. */
export const APPEND_AS = `CREATE OR REPLACE FUNCTION assistant_append_as(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ,
  p_attach TEXT, p_parent TEXT, p_id TEXT, p_role TEXT, p_content TEXT, p_text TEXT, p_tokens INTEGER, p_dated TEXT,
  p_length INTEGER, p_terms TEXT, p_media TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM assistant_use(p_session, p_user, p_now);
  RETURN assistant_append(p_session, p_now, p_attach, p_parent, p_id, p_role, p_content, p_text, p_tokens, p_dated,
    p_length, p_terms, p_media);
END $$`;

/** See `APPEND_AS`, of several messages. */
export const APPEND_ALL_AS = `CREATE OR REPLACE FUNCTION assistant_append_all_as(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ,
  p_messages TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM assistant_use(p_session, p_user, p_now);
  RETURN assistant_append_all(p_session, p_now, p_messages);
END $$`;
