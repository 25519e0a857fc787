import { APPENDS_UNDATED, SPAN } from "@stemma/store";
import { PARENT_NOT_FOUND, SESSION_LIMIT } from "../error.js";
/**
 * SQL for the rest of a statement that reads one message of the session `p_session`, by its id or by its row id. Two indexes
 * begin with the session. A plan that was made while the tables were empty may take the other one, and then goes through all
 * messages of the session; Postgres keeps such a plan. The order is what only the right index has.
 */
export const messageOf = (alias: string, column: "id" | "n", value: string): string =>
  `assistant_messages ${alias} WHERE ${alias}.session_id = p_session AND ${alias}.${column} BETWEEN ${value} AND ${value}
          ORDER BY ${alias}.${column} LIMIT 1`;

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

/** Fewer messages are appended one by one: to prepare a set takes as long as eight of them. */
const AS_SET = 10;

/**
 * `assistant_append_all` appends messages one after the other, and gives what `assistant_append` does, with a digit for each of
 * them. Of many, new ones that follow each other are written together, as one set behind the first of them.
 */
export const APPEND_ALL = `CREATE OR REPLACE FUNCTION assistant_append_all(p_session TEXT, p_now TIMESTAMPTZ, p_messages TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  m RECORD;
  result JSON;
  flags TEXT := '';
  as_set BOOLEAN := json_array_length(p_messages::json) >= ${AS_SET};
  -- Ids that are in the tree already, or are given more than once.
  known TEXT[];
  given TEXT[];
  -- The message behind which the others follow; null while the last one was not inserted.
  first_id TEXT;
  first_n BIGINT;
  first_branch INTEGER;
  last_id TEXT;
  visible BIGINT;
  ids TEXT[] := '{}';
  roles TEXT[];
  contents TEXT[];
  texts TEXT[];
  sizes INTEGER[];
  dates TEXT[];
  lengths INTEGER[];
  words TEXT[];
  outside TEXT[];
BEGIN
  IF as_set THEN
    PERFORM assistant_lock(p_session);
    SELECT array_agg(g.id), coalesce(array_agg(g.id) FILTER (WHERE g.times > 1), '{}') INTO given, known
      FROM (SELECT x.id, count(*) AS times FROM json_to_recordset(p_messages::json) AS x (id TEXT) GROUP BY x.id) AS g;
    known := known || ARRAY(SELECT found.id FROM unnest(given) AS g (id) CROSS JOIN LATERAL (
      SELECT t.id FROM ${messageOf("t", "id", "g.id")}) AS found);
  END IF;
  FOR m IN
    SELECT x.* FROM json_to_recordset(p_messages::json) AS x (attach TEXT, parent TEXT, id TEXT, role TEXT,
      content TEXT, text TEXT, tokens INTEGER, dated TEXT, length INTEGER, terms TEXT, media TEXT)
    -- The end.
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  LOOP
    IF m.attach = 'message' AND m.parent = last_id AND NOT m.id = ANY (known)
      AND (first_n + cardinality(ids)) % ${SPAN} < ${SPAN - 1}
    THEN
      last_id := m.id;
      visible := visible + m.tokens;
      flags := flags || '1';
      ids := ids || m.id;
      roles := roles || m.role;
      contents := contents || m.content;
      texts := texts || m.text;
      sizes := sizes || m.tokens;
      dates := dates || m.dated;
      lengths := lengths || m.length;
      words := words || m.terms;
      outside := outside || m.media;
      CONTINUE;
    END IF;

    IF cardinality(ids) > 0 THEN
      INSERT INTO assistant_messages
        (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content, text_content)
        SELECT first_n + r.k, r.id, p_session, CASE WHEN r.k = 1 THEN first_id ELSE ids[r.k - 1] END, r.role, p_now,
            first_branch, r.tokens, visible - sum(r.tokens) OVER () + sum(r.tokens) OVER (ORDER BY r.k), r.dated, r.content, r.text
          FROM unnest(ids, roles, sizes, dates, contents, texts) WITH ORDINALITY
            AS r (id, role, tokens, dated, content, text, k);
      INSERT INTO assistant_fts (session_id, n, length, terms)
        SELECT p_session, first_n + r.k, r.length, string_to_array(r.terms, ' ')
          FROM unnest(lengths, words) WITH ORDINALITY AS r (length, terms, k) WHERE r.length > 0;
      IF num_nonnulls(VARIADIC outside) > 0 THEN
        INSERT INTO assistant_media_refs (session_id, no, n, hash)
          SELECT p_session, first_n / ${SPAN}, first_n + r.k, d.hash
            FROM unnest(outside) WITH ORDINALITY AS r (media, k), json_to_recordset(r.media::json) AS d (hash TEXT);
        INSERT INTO assistant_media (session_id, no, hash, part, data)
          SELECT p_session, first_n / ${SPAN}, d.hash, 0, d.data
            FROM unnest(outside) AS r (media), json_to_recordset(r.media::json) AS d (hash TEXT, data TEXT)
          ON CONFLICT DO NOTHING;
      END IF;
      result := json_build_array(1, last_id, visible);
      ids := '{}';
    END IF;
    EXIT WHEN m.id IS NULL;

    result := assistant_append(p_session, p_now, m.attach, m.parent, m.id, m.role, m.content, m.text, m.tokens, m.dated,
      m.length, m.terms, m.media);
    flags := flags || (result->>0);
    -- Of one that was known these are null, and nothing follows it here.
    last_id := CASE WHEN as_set AND result->>3 IS NOT NULL THEN m.id END;
    first_id := last_id;
    visible := result->>2;
    first_n := result->>3;
    first_branch := result->>4;
    roles := '{}'; contents := '{}'; texts := '{}'; sizes := '{}'; dates := '{}';
    lengths := '{}'; words := '{}'; outside := '{}';
  END LOOP;
  RETURN json_build_array(flags, result->1, result->2)::TEXT;
END $$`;

/**
 * `assistant_append_each` makes appends to several sessions in one transaction, and gives for each what `assistant_append` gave, or
 * null where that must be called by itself: for a session that has no row yet, or that another writer has locked. It waits for
 * nobody, so no two calls can wait for each other.
 */
export const APPEND_EACH = `CREATE OR REPLACE FUNCTION assistant_append_each(p_appends TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  a RECORD;
  results TEXT[] := '{}';
BEGIN
  FOR a IN
    SELECT x.* FROM json_to_recordset(p_appends::json) AS x (session TEXT, owner TEXT, now TIMESTAMPTZ, attach TEXT, parent TEXT,
      id TEXT, role TEXT, content TEXT, text TEXT, tokens INTEGER, dated TEXT, length INTEGER, terms TEXT, media TEXT)
  LOOP
    PERFORM FROM assistant_sessions s WHERE s.id = a.session FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      results := results || NULL::TEXT;
      CONTINUE;
    END IF;
    IF a.owner IS NOT NULL THEN
      PERFORM assistant_use(a.session, a.owner, a.now);
    END IF;
    results := results || assistant_append(a.session, a.now, a.attach, a.parent, a.id, a.role, a.content, a.text, a.tokens,
      a.dated, a.length, a.terms, a.media);
  END LOOP;
  RETURN to_json(results);
END $$`;
