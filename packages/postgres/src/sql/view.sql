-- Gives what a reader sees of the path to a leaf, as pieces: first, without a key, the session's number, the leaf, the skill state and the
-- user as JSON; then ranges of messages of a branch, whose key is `n` where there is a skill state, and summaries, whose key is `s` and
-- the id of their compaction. Where the rows do not fit together a piece has the key `x`, and what is wrong the shared operation tells.
CREATE OR REPLACE FUNCTION assistant_view(p_session TEXT, p_leaf TEXT, p_newest_first BOOLEAN)
RETURNS TABLE (branch INTEGER, lo BIGINT, hi BIGINT, key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  session RECORD;
  leaf RECORD;
  lowest BIGINT;
BEGIN
  SELECT s.no, s.leaf, s.skills, s.user_id INTO session FROM assistant_sessions s WHERE s.id = p_session;
  IF NOT FOUND THEN RETURN; END IF;
  lowest := session.no * 268435456;
  IF p_leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m
      WHERE m.session_id = p_session AND m.id BETWEEN p_leaf AND p_leaf ORDER BY m.id LIMIT 1;
  ELSIF session.leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m
      WHERE m.session_id = p_session AND m.n BETWEEN session.leaf AND session.leaf ORDER BY m.n LIMIT 1;
  ELSE
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m
      WHERE m.session_id = p_session AND m.n BETWEEN lowest AND lowest + 268435455 ORDER BY m.n DESC LIMIT 1;
  END IF;
  content := json_build_object('no', session.no, 'leaf', leaf.n, 'chosen', session.leaf, 'skills', session.skills,
    'user', session.user_id);
  RETURN NEXT;
  IF leaf.n IS NULL THEN RETURN; END IF;

  -- A line without compactions is one piece.
  IF leaf.branch = 0 AND NOT EXISTS (
    SELECT FROM assistant_compactions c WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + 268435455)
  THEN
    branch := 0; lo := lowest; hi := leaf.n; content := NULL;
    key := CASE WHEN session.skills IS NOT NULL THEN 'n' END;
    RETURN NEXT;
    RETURN;
  END IF;

  RETURN QUERY WITH RECURSIVE chain (branch, lo, hi, parent_branch, parent_n, known) AS (
    SELECT leaf.branch, coalesce(b.lo, lowest), leaf.n, b.parent_branch, b.parent_n, leaf.branch = 0 OR b.no IS NOT NULL
      FROM (SELECT) AS one LEFT JOIN assistant_branches b
        ON b.session_id = p_session AND b.no = session.no AND b.branch = leaf.branch
    -- UNION, not UNION ALL: damaged rows may make a circle.
    UNION
    SELECT c.parent_branch, coalesce(b.lo, lowest), c.parent_n, b.parent_branch, b.parent_n,
        c.parent_branch = 0 OR b.no IS NOT NULL
      FROM chain c LEFT JOIN assistant_branches b
        ON b.session_id = p_session AND b.no = session.no AND b.branch = c.parent_branch
      WHERE c.parent_branch IS NOT NULL
  ), broken AS (
    SELECT FROM chain s WHERE NOT s.known OR s.lo > s.hi OR (s.parent_branch IS NULL) <> (s.parent_n IS NULL)
    UNION ALL
    SELECT FROM assistant_compactions c LEFT JOIN LATERAL (
        SELECT m.n FROM assistant_messages m
          WHERE m.session_id = p_session AND m.n BETWEEN c.to_n AND c.to_n ORDER BY m.n LIMIT 1) AS m ON TRUE
      WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + 268435455
        AND (c.to_n IS NOT NULL OR c.from_n IS NOT NULL)
        AND (m.n IS NULL OR coalesce(c.from_n > c.to_n, TRUE) OR c.from_n < lowest)
  ), compactions AS (
    -- Whoever has a compaction's end on its path has its whole range there.
    SELECT c.id, c.summary, c.from_n, int8range(c.from_n, c.to_n, '[]') AS range, row_number() OVER (ORDER BY c.n DESC) AS age
      FROM assistant_compactions c CROSS JOIN LATERAL (
        SELECT m.n, m.branch FROM assistant_messages m
          WHERE m.session_id = p_session AND m.n BETWEEN c.to_n AND c.to_n ORDER BY m.n LIMIT 1) AS m
      JOIN chain s ON s.branch = m.branch AND m.n BETWEEN s.lo AND s.hi
      WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + 268435455
  ), chosen (age, covered, taken) AS (
    -- The newest wins wherever two overlap.
    SELECT 0::BIGINT, '{}'::INT8MULTIRANGE, FALSE
    UNION ALL
    SELECT o.age, CASE WHEN c.covered && o.range THEN c.covered ELSE c.covered + int8multirange(o.range) END,
        NOT c.covered && o.range
      FROM chosen c JOIN compactions o ON o.age = c.age + 1
  ), pieces (branch, lo, hi, key, content) AS (
    SELECT s.branch, lower(part), upper(part) - 1, CASE WHEN session.skills IS NOT NULL THEN 'n' END, NULL
      FROM chain s CROSS JOIN (SELECT c.covered FROM chosen c ORDER BY c.age DESC LIMIT 1) AS whole
      CROSS JOIN LATERAL unnest(int8multirange(int8range(s.lo, s.hi, '[]')) - whole.covered) AS part
      WHERE s.lo <= s.hi
    UNION ALL
    SELECT NULL, o.from_n, NULL, 's' || o.id, o.summary FROM compactions o JOIN chosen c ON c.age = o.age AND c.taken
    UNION ALL
    SELECT NULL, 0, NULL, 'x', NULL WHERE EXISTS (SELECT FROM broken)
  )
  SELECT p.branch, p.lo, p.hi, p.key, p.content FROM pieces p
    ORDER BY p.lo = 0 DESC, CASE WHEN p_newest_first THEN -p.lo ELSE p.lo END;
END $$;
