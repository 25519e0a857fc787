-- Appends a message: to the active leaf (`leaf`), below a message (`message`) or as a root (`root`); by a user where one is named, to whom
-- a session of nobody belongs from then on. Gives `[inserted, id of the leaf, its visible total]` as JSON, and of a message that was
-- inserted its row and branch as well. Every other writer of the session takes the same lock first.
--
-- One message is found by `BETWEEN` and an order that only the right index has: two indexes begin with the session, and a plan that
-- was made while the tables were empty, which Postgres keeps, would go through all messages of the session by the other one.
CREATE OR REPLACE FUNCTION assistant_append(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ, p_attach TEXT, p_parent TEXT,
  p_id TEXT, p_role TEXT, p_content TEXT, p_text TEXT, p_tokens INTEGER, p_dated TEXT, p_length INTEGER, p_terms TEXT, p_media TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  session_no BIGINT;
  leaf_n BIGINT;
  stale_n BIGINT;
  owner TEXT;
  dated_until TIMESTAMPTZ;
  is_learned INTEGER;
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
  SELECT s.no, s.leaf, s.stale, s.user_id, greatest(s.appended_until, s.updated_at), s.learned
    INTO session_no, leaf_n, stale_n, owner, dated_until, is_learned FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM assistant_lock(p_session);
    INSERT INTO assistant_sessions (id, name, user_id, created_at, updated_at)
      VALUES (p_session, p_session, p_user, p_now, p_now) ON CONFLICT DO NOTHING;
    SELECT s.no, s.leaf, s.stale, s.user_id, greatest(s.appended_until, s.updated_at), s.learned
      INTO STRICT session_no, leaf_n, stale_n, owner, dated_until, is_learned FROM assistant_sessions s WHERE s.id = p_session;
  END IF;
  IF owner <> p_user THEN
    RAISE EXCEPTION 'session of another user' USING ERRCODE = 'ST003', DETAIL = p_session;
  ELSIF owner IS NULL AND p_user IS NOT NULL THEN
    UPDATE assistant_sessions SET user_id = p_user WHERE id = p_session;
  END IF;

  lowest := session_no * 268435456;
  SELECT t.n, t.id, t.branch, t.total INTO newest_n, newest_id, newest_branch, newest_total FROM assistant_messages t
    WHERE t.session_id = p_session AND t.n BETWEEN lowest AND lowest + 268435455 ORDER BY t.n DESC LIMIT 1;

  -- No one else writes messages of the session now, so the insert below meets none of the same id.
  PERFORM FROM assistant_messages t WHERE t.session_id = p_session AND t.id BETWEEN p_id AND p_id ORDER BY t.id LIMIT 1;
  IF FOUND THEN
    IF leaf_n IS NOT NULL THEN
      newest_id := NULL;
      SELECT t.n, t.id, t.total INTO newest_n, newest_id, newest_total FROM assistant_messages t
        WHERE t.session_id = p_session AND t.n BETWEEN leaf_n AND leaf_n ORDER BY t.n LIMIT 1;
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
      SELECT t.n, t.id, t.branch, t.total INTO parent_n, parent_id, parent_branch, parent_total FROM assistant_messages t
        WHERE t.session_id = p_session AND t.n BETWEEN leaf_n AND leaf_n ORDER BY t.n LIMIT 1;
    ELSIF p_attach = 'message' THEN
      SELECT t.n, t.id, t.branch, t.total INTO parent_n, parent_id, parent_branch, parent_total FROM assistant_messages t
        WHERE t.session_id = p_session AND t.id BETWEEN p_parent AND p_parent ORDER BY t.id LIMIT 1;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'parent not found' USING ERRCODE = 'ST001', DETAIL = p_parent;
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
  IF new_n > lowest + 268435455 THEN
    RAISE EXCEPTION 'A session numbers at most 268435455 messages; continue in a fork' USING ERRCODE = 'ST002';
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
  -- At most once in a second, see `dateAppend` in session-order.ts.
  IF leaf_n IS NOT NULL OR is_learned IS NOT NULL OR p_now > dated_until OR dated_until > p_now + interval '1 second' THEN
    UPDATE assistant_sessions SET leaf = NULL, learned = NULL, appended_until = p_now + interval '1 second'
      WHERE id = p_session AND no = session_no;
  END IF;
  RETURN json_build_array(1, p_id, parent_total + p_tokens, new_n, new_branch)::TEXT;
END $$;
