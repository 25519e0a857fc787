import { PARENT_NOT_FOUND, SESSION_LIMIT } from "./postgres-error.js";

const SPAN = 2 ** 28;

/**
 * The operations that are one round trip as a function of the database, and several otherwise: see `HotPaths`. They
 * say what `appendMessages`, `insertMessage`, `importTree` and `readPath` say.
 *
 * `assistant_append` attaches each message to the one before it (`last`), to the active leaf (`leaf`), below a message
 * (`message`) or nowhere (`root`). Every other writer of the session takes the same lock first.
 */
export const APPEND = `CREATE OR REPLACE FUNCTION assistant_append(p_session TEXT, p_now TIMESTAMPTZ, p_messages TEXT)
RETURNS TABLE (inserted TEXT, last_id TEXT, visible BIGINT) LANGUAGE plpgsql AS $$
DECLARE
  session RECORD;
  m RECORD;
  newest RECORD;
  parent RECORD;
  last RECORD;
  lowest BIGINT;
  flags TEXT := '';
  new_n BIGINT;
  new_branch INTEGER;
  new_total BIGINT;
BEGIN
  SELECT s.no, s.leaf, s.stale INTO session FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO assistant_sessions (id, name, created_at, updated_at) VALUES (p_session, p_session, p_now, p_now)
      ON CONFLICT DO NOTHING;
    SELECT s.no, s.leaf, s.stale INTO STRICT session FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  END IF;
  lowest := session.no * ${SPAN};
  SELECT t.n, t.id, t.branch, t.total INTO newest FROM assistant_messages t
    WHERE t.n BETWEEN lowest AND lowest + ${SPAN - 1} ORDER BY t.n DESC LIMIT 1;
  SELECT NULL::BIGINT AS n, NULL::TEXT AS id, NULL::INTEGER AS branch, NULL::BIGINT AS total INTO last;
  FOR m IN SELECT * FROM json_to_recordset(p_messages::json) AS x (attach TEXT, parent TEXT, id TEXT, role TEXT,
    content TEXT, text TEXT, tokens INTEGER, dated TEXT, length INTEGER, terms TEXT, media JSON)
  LOOP
    IF newest.n IS NOT NULL THEN
      SELECT t.n, t.id, t.branch, t.total INTO parent FROM assistant_messages t
        WHERE t.session_id = p_session AND t.id = m.id;
      IF FOUND THEN
        last := parent;
        flags := flags || '0';
        CONTINUE;
      END IF;
    END IF;
    flags := flags || '1';

    IF m.attach = 'last' THEN
      parent := last;
    ELSIF m.attach = 'leaf' AND session.leaf IS NULL THEN
      parent := newest;
    ELSE
      SELECT t.n, t.id, t.branch, t.total INTO parent FROM assistant_messages t
        WHERE m.attach = 'leaf' AND t.n = session.leaf OR m.attach = 'message' AND t.session_id = p_session AND t.id = m.parent;
      IF NOT FOUND AND m.attach = 'message' THEN
        RAISE EXCEPTION 'parent not found' USING ERRCODE = '${PARENT_NOT_FOUND}', DETAIL = m.parent;
      END IF;
    END IF;

    new_n := coalesce(newest.n, lowest) + 1;
    IF new_n > lowest + ${SPAN - 1} OR session.no >= ${2 ** 25} THEN
      RAISE EXCEPTION 'A store numbers at most ${2 ** 25 - 1} sessions, and a session ${SPAN - 1} messages'
        USING ERRCODE = '${SESSION_LIMIT}';
    END IF;

    -- A message goes on with its parent's branch unless another message does so already.
    IF newest.n IS NULL THEN
      new_branch := 0;
    ELSIF parent.n = newest.n OR parent.n IS NOT NULL AND NOT EXISTS (
      SELECT FROM assistant_messages t WHERE t.n BETWEEN parent.n + 1 AND newest.n AND t.branch = parent.branch)
    THEN
      new_branch := parent.branch;
    ELSE
      SELECT coalesce(max(b.branch), 0) + 1 INTO new_branch FROM assistant_branches b WHERE b.no = session.no;
      INSERT INTO assistant_branches (no, branch, lo, parent_branch, parent_n)
        VALUES (session.no, new_branch, new_n, parent.branch, parent.n);
    END IF;

    new_total := CASE WHEN parent.n IS NULL THEN m.tokens
                      WHEN parent.n <= session.stale THEN NULL
                      ELSE parent.total + m.tokens END;
    INSERT INTO assistant_messages
      (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content, text_content)
      VALUES (new_n, m.id, p_session, parent.id, m.role, p_now, new_branch, m.tokens, new_total, m.dated, m.content, m.text);
    IF m.length > 0 THEN
      INSERT INTO assistant_fts (n, length, terms) VALUES (new_n, m.length, string_to_array(m.terms, ' '));
    END IF;
    IF m.media IS NOT NULL THEN
      INSERT INTO assistant_media_refs (no, n, hash)
        SELECT session.no, new_n, d.hash FROM json_to_recordset(m.media) AS d (hash TEXT);
      INSERT INTO assistant_media (no, hash, part, data)
        SELECT session.no, d.hash, 0, d.data FROM json_to_recordset(m.media) AS d (hash TEXT, data TEXT)
        ON CONFLICT DO NOTHING;
    END IF;
    SELECT new_n AS n, m.id AS id, new_branch AS branch, new_total AS total INTO newest;
    last := newest;
  END LOOP;

  IF session.leaf IS NOT NULL THEN
    IF flags LIKE '%1%' THEN
      UPDATE assistant_sessions SET leaf = NULL WHERE no = session.no;
    ELSE
      SELECT t.n, t.id, t.branch, t.total INTO newest FROM assistant_messages t WHERE t.n = session.leaf;
    END IF;
  END IF;
  RETURN QUERY SELECT flags, newest.id,
    CASE WHEN newest.n IS NULL THEN 0 WHEN newest.n <= session.stale THEN NULL ELSE newest.total END;
END $$`;

/**
 * `assistant_path` gives a first row with the session's number, the leaf and the skill state as JSON, then the visible path:
 * the contents of messages, and summaries with the id of their overlay. It sees one state throughout.
 */
export const PATH = `CREATE OR REPLACE FUNCTION assistant_path(p_session TEXT, p_leaf TEXT)
RETURNS TABLE (n BIGINT, key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  session RECORD;
  leaf RECORD;
  piece RECORD;
  lowest BIGINT;
BEGIN
  SELECT s.no, s.leaf, s.skills INTO session FROM assistant_sessions s WHERE s.id = p_session;
  IF NOT FOUND THEN RETURN; END IF;
  lowest := session.no * ${SPAN};
  IF p_leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m WHERE m.session_id = p_session AND m.id = p_leaf;
  ELSIF session.leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m WHERE m.n = session.leaf;
  ELSE
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m
      WHERE m.n BETWEEN lowest AND lowest + ${SPAN - 1} ORDER BY m.n DESC LIMIT 1;
  END IF;
  RETURN QUERY SELECT NULL::BIGINT, NULL::TEXT,
    json_build_object('no', session.no, 'leaf', leaf.n, 'skills', session.skills)::TEXT;
  IF leaf.n IS NULL THEN RETURN; END IF;

  IF leaf.branch = 0 AND NOT EXISTS (
    SELECT FROM assistant_compactions c WHERE c.n BETWEEN lowest AND lowest + ${SPAN - 1})
  THEN
    RETURN QUERY SELECT m.n, NULL::TEXT, m.content FROM assistant_messages m
      WHERE m.n BETWEEN lowest AND leaf.n AND m.branch = 0 ORDER BY m.n;
  ELSE
    FOR piece IN
      WITH RECURSIVE chain (branch, lo, hi, parent_branch, parent_n) AS (
        SELECT leaf.branch, coalesce(b.lo, lowest), leaf.n, b.parent_branch, b.parent_n
          FROM (SELECT) AS one LEFT JOIN assistant_branches b ON b.no = session.no AND b.branch = leaf.branch
        UNION ALL
        SELECT c.parent_branch, coalesce(b.lo, lowest), c.parent_n, b.parent_branch, b.parent_n
          FROM chain c LEFT JOIN assistant_branches b ON b.no = session.no AND b.branch = c.parent_branch
          WHERE c.parent_branch IS NOT NULL
      ), overlays AS (
        -- Whoever has an overlay's end on its path has its whole range there.
        SELECT c.id, c.summary, c.from_n, int8range(c.from_n, c.to_n, '[]') AS range,
               row_number() OVER (ORDER BY c.n DESC) AS age
          FROM assistant_compactions c JOIN assistant_messages m ON m.n = c.to_n
          JOIN chain s ON s.branch = m.branch AND m.n BETWEEN s.lo AND s.hi
          WHERE c.n BETWEEN lowest AND lowest + ${SPAN - 1}
      ), chosen (age, covered, taken) AS (
        -- The newest wins wherever two overlap.
        SELECT 0::BIGINT, '{}'::INT8MULTIRANGE, FALSE
        UNION ALL
        SELECT o.age,
               CASE WHEN c.covered && o.range THEN c.covered ELSE c.covered + int8multirange(o.range) END,
               NOT c.covered && o.range
          FROM chosen c JOIN overlays o ON o.age = c.age + 1
      )
      SELECT s.branch, lower(part) AS lo, upper(part) - 1 AS hi, NULL AS id, NULL AS summary
        FROM chain s CROSS JOIN (SELECT c.covered FROM chosen c ORDER BY c.age DESC LIMIT 1) AS whole
        CROSS JOIN LATERAL unnest(int8multirange(int8range(s.lo, s.hi, '[]')) - whole.covered) AS part
        WHERE s.lo <= s.hi
      UNION ALL
      SELECT NULL, o.from_n, NULL, o.id, o.summary FROM overlays o JOIN chosen c ON c.age = o.age AND c.taken
      ORDER BY lo
    LOOP
      IF piece.id IS NOT NULL THEN
        RETURN QUERY SELECT piece.lo, piece.id, piece.summary;
      ELSE
        RETURN QUERY SELECT m.n, NULL::TEXT, m.content FROM assistant_messages m
          WHERE m.n BETWEEN piece.lo AND piece.hi AND m.branch = piece.branch ORDER BY m.n;
      END IF;
    END LOOP;
  END IF;
END $$`;
