import { MAX_NUMBER, SPAN } from "../operations/row-id.js";
import { APPENDS_UNDATED } from "../operations/session-order.js";
import { PARENT_NOT_FOUND, SESSION_LIMIT, SESSION_OWNED } from "./error.js";
import { messageOf } from "./message-of.js";

const LOCK_ID = (id: string) => `PERFORM pg_advisory_xact_lock(hashtextextended(${id}, 1))`;

/**
 * `assistant_lock` makes other writers of a session wait until the transaction ends. A row that is not there cannot be locked,
 * so its id is: whoever registers a session locks that first. Behind the call the session's row is locked, or there is none
 * and none comes.
 */
export const LOCK = `CREATE OR REPLACE FUNCTION assistant_lock(p_session TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    ${LOCK_ID("p_session")};
    PERFORM FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  END IF;
END $$`;

/**
 * `assistant_number` gives a new session's number: the minute in which it is registered, counted from 2020. Sessions of one
 * minute share it, so no server asks another one. It grows, so that a search over all sessions begins with the newest.
 */
export const NUMBER = `CREATE OR REPLACE FUNCTION assistant_number() RETURNS BIGINT LANGUAGE sql AS $$
  SELECT least(greatest(floor((extract(epoch FROM clock_timestamp()) - 1577836800) / 60)::BIGINT, 1), ${MAX_NUMBER})
$$`;

/** SQL for when a session is registered, in microseconds: it tells a session from others of its number, and from one of its id that is gone. */
export const REGISTERED = "(floor(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";

/**
 * The same until version 16, when a number was one session's. It has the rights of the owner, so that a role which may write to the
 * tables needs none on the sequence. In a cluster of Citus one server has the sequence, the coordinator; others ask it.
 */
export const UNIQUE_NUMBER = `CREATE OR REPLACE FUNCTION assistant_number() RETURNS BIGINT LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  sequence TEXT := 'assistant_session_no';
  is_here BOOLEAN := to_regproc('pg_catalog.citus_is_coordinator') IS NULL;
  answer RECORD;
BEGIN
  IF NOT is_here THEN EXECUTE 'SELECT pg_catalog.citus_is_coordinator()' INTO is_here; END IF;
  IF is_here THEN RETURN nextval(sequence); END IF;
  IF strpos(sequence, '.') = 0 THEN sequence := quote_ident(current_schema()) || '.' || sequence; END IF;
  EXECUTE 'SELECT success, result FROM pg_catalog.run_command_on_coordinator($1)' INTO answer
    USING format('SELECT nextval(%L)', sequence);
  IF NOT answer.success THEN RAISE EXCEPTION '%', answer.result USING ERRCODE = '08006'; END IF;
  RETURN answer.result::BIGINT;
END $$`;

/** `assistant_edited` marks the vector of a message that was edited as old, where there are vectors. */
export const EDITED = `CREATE OR REPLACE FUNCTION assistant_edited(p_session TEXT, p_n BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('assistant_vectors') IS NOT NULL THEN
    UPDATE assistant_vectors SET embedder = 0 WHERE session_id = p_session AND n = p_n;
  END IF;
END $$`;

/**
 * The operations that are one round trip as a function of the database, and several otherwise: see `NativeOperations`. They
 * say what `appendMessages`, `insertMessage`, `importTree` and `readPath` say.
 *
 * `assistant_append` attaches a message to the active leaf (`leaf`), below a message (`message`) or nowhere (`root`), and
 * gives `[inserted, id of the leaf then, its visible total]` as JSON, and of a message that was inserted its row and branch as well.
 * Every other writer of the session takes the same lock first.
 */
export const APPEND = `CREATE OR REPLACE FUNCTION assistant_append(p_session TEXT, p_now TIMESTAMPTZ, p_attach TEXT, p_parent TEXT,
  p_id TEXT, p_role TEXT, p_content TEXT, p_text TEXT, p_tokens INTEGER, p_dated TEXT, p_length INTEGER, p_terms TEXT, p_media TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  session_no BIGINT;
  leaf_n BIGINT;
  stale_n BIGINT;
  dated_until TIMESTAMPTZ;
  lowest BIGINT;
  newest_n BIGINT;
  newest_id TEXT;
  newest_branch INTEGER;
  newest_total BIGINT;
  parent_n BIGINT;
  parent_id TEXT;
  parent_branch INTEGER;
  parent_total BIGINT;
  new_n BIGINT;
  new_branch INTEGER := 0;
BEGIN
  SELECT s.no, s.leaf, s.stale, CASE WHEN s.appended_until > s.updated_at THEN s.appended_until ELSE s.updated_at END
    INTO session_no, leaf_n, stale_n, dated_until FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM assistant_lock(p_session);
    INSERT INTO assistant_sessions (id, name, created_at, updated_at) VALUES (p_session, p_session, p_now, p_now)
      ON CONFLICT DO NOTHING;
    SELECT s.no, s.leaf, s.stale, CASE WHEN s.appended_until > s.updated_at THEN s.appended_until ELSE s.updated_at END
      INTO STRICT session_no, leaf_n, stale_n, dated_until FROM assistant_sessions s WHERE s.id = p_session;
  END IF;
  lowest := session_no * ${SPAN};
  SELECT t.n, t.id, t.branch, t.total INTO newest_n, newest_id, newest_branch, newest_total FROM assistant_messages t
    WHERE t.session_id = p_session AND t.n BETWEEN lowest AND lowest + ${SPAN - 1} ORDER BY t.n DESC LIMIT 1;

  -- No one else writes messages of the session now, so the insert below meets none of the same id.
  PERFORM FROM ${messageOf("t", "id", "p_id")};
  IF FOUND THEN
    IF leaf_n IS NOT NULL THEN
      newest_id := NULL;
      SELECT t.n, t.id, t.total INTO newest_n, newest_id, newest_total FROM ${messageOf("t", "n", "leaf_n")};
    END IF;
    RETURN json_build_array(0, newest_id,
      CASE WHEN newest_id IS NULL THEN 0 WHEN newest_n <= stale_n THEN NULL ELSE newest_total END)::TEXT;
  END IF;

  IF newest_n IS NULL AND p_attach <> 'message' THEN
    NULL;
  ELSIF p_attach = 'leaf' AND leaf_n IS NULL OR p_attach = 'message' AND p_parent = newest_id THEN
    parent_n := newest_n;
    parent_id := newest_id;
    parent_branch := newest_branch;
    parent_total := newest_total;
    new_branch := newest_branch;
  ELSE
    IF p_attach = 'leaf' THEN
      SELECT t.n, t.id, t.branch, t.total INTO parent_n, parent_id, parent_branch, parent_total FROM ${messageOf("t", "n", "leaf_n")};
    ELSIF p_attach = 'message' THEN
      SELECT t.n, t.id, t.branch, t.total INTO parent_n, parent_id, parent_branch, parent_total FROM ${messageOf("t", "id", "p_parent")};
      IF NOT FOUND THEN
        RAISE EXCEPTION 'parent not found' USING ERRCODE = '${PARENT_NOT_FOUND}', DETAIL = p_parent;
      END IF;
    END IF;
    -- A message goes on with its parent's branch unless another message does so already.
    IF parent_n IS NOT NULL AND (
      SELECT t.n FROM assistant_messages t
        WHERE t.session_id = p_session AND t.n BETWEEN parent_n + 1 AND newest_n AND t.branch = parent_branch
        ORDER BY t.n LIMIT 1) IS NULL
    THEN
      new_branch := parent_branch;
    ELSE
      SELECT coalesce(max(b.branch), 0) + 1 INTO new_branch FROM assistant_branches b
        WHERE b.session_id = p_session AND b.no = session_no;
      INSERT INTO assistant_branches (session_id, no, branch, lo, parent_branch, parent_n)
        VALUES (p_session, session_no, new_branch, newest_n + 1, parent_branch, parent_n);
    END IF;
  END IF;

  new_n := coalesce(newest_n, lowest) + 1;
  IF new_n > lowest + ${SPAN - 1} THEN
    RAISE EXCEPTION 'A session numbers at most ${SPAN - 1} messages; continue in a fork'
      USING ERRCODE = '${SESSION_LIMIT}';
  END IF;
  parent_total := CASE WHEN parent_n IS NULL THEN 0 WHEN parent_n <= stale_n THEN NULL ELSE parent_total END;
  -- Where a session that moves to another server left its lock behind, this fails as a conflict does.
  INSERT INTO assistant_messages
    (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content, text_content)
    VALUES (new_n, p_id, p_session, parent_id, p_role, p_now, new_branch, p_tokens, parent_total + p_tokens, p_dated, p_content, p_text);
  IF p_length > 0 THEN
    INSERT INTO assistant_fts (session_id, n, length, terms) VALUES (p_session, new_n, p_length, string_to_array(p_terms, ' '));
  END IF;
  IF p_media IS NOT NULL THEN
    INSERT INTO assistant_media_refs (session_id, no, n, hash)
      SELECT p_session, session_no, new_n, d.hash FROM json_to_recordset(p_media::json) AS d (hash TEXT);
    INSERT INTO assistant_media (session_id, no, hash, part, data)
      SELECT p_session, session_no, d.hash, 0, d.data FROM json_to_recordset(p_media::json) AS d (hash TEXT, data TEXT)
      ON CONFLICT DO NOTHING;
  END IF;
  -- At most once in a while, see dateAppend in session-head.ts.
  IF leaf_n IS NOT NULL OR p_now > dated_until OR dated_until > p_now + interval '${APPENDS_UNDATED} second' THEN
    UPDATE assistant_sessions SET leaf = NULL, appended_until = p_now + interval '${APPENDS_UNDATED} second'
      WHERE id = p_session AND no = session_no;
  END IF;
  RETURN json_build_array(1, p_id, parent_total + p_tokens, new_n, new_branch)::TEXT;
END $$`;

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

export const APPEND_ALL_AS = `CREATE OR REPLACE FUNCTION assistant_append_all_as(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ,
  p_messages TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM assistant_use(p_session, p_user, p_now);
  RETURN assistant_append_all(p_session, p_now, p_messages);
END $$`;
