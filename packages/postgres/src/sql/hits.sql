-- Gives the rows of messages by their sessions and numbers, with the compactions that cover each: the ids of those whose range ends on
-- its branch, newest first, and how many end on another one. Where it is told since when, only messages that no transaction has written
-- that was not over by then; nor may one have written to their session, but to append.
CREATE OR REPLACE FUNCTION assistant_hits(p_sessions TEXT, p_numbers TEXT, p_since BIGINT)
RETURNS TABLE (n BIGINT, id TEXT, session_id TEXT, branch INTEGER, role TEXT, dated_at TEXT, created_at TIMESTAMPTZ, content TEXT,
  covering BIGINT, covered_by TEXT) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN QUERY SELECT m.n, m.id, m.session_id, m.branch, m.role, m.dated_at, m.created_at, m.content, c.covering, c.covered_by
    FROM unnest(p_sessions::TEXT[], p_numbers::BIGINT[]) AS h (session_id, n)
    CROSS JOIN LATERAL (
      SELECT m.*, m.xmin AS written FROM assistant_messages m WHERE m.session_id = h.session_id AND m.n = h.n OFFSET 0) AS m
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE e.branch IS DISTINCT FROM m.branch) AS covering,
          json_agg(c.id ORDER BY c.n DESC)::TEXT AS covered_by
        FROM assistant_compactions c LEFT JOIN LATERAL (
          SELECT e.branch FROM assistant_messages e WHERE e.session_id = m.session_id AND e.n = c.to_n OFFSET 0) AS e ON TRUE
        WHERE c.session_id = m.session_id AND c.n BETWEEN m.n - m.n % 268435456 AND m.n - m.n % 268435456 + 268435455
          AND m.n BETWEEN c.from_n AND c.to_n) AS c
    -- Transactions are numbered in a circle.
    WHERE p_since IS NULL OR (m.written::TEXT::BIGINT - p_since) & 4294967295 >= 2147483648
      AND EXISTS (SELECT FROM assistant_sessions s
        WHERE s.id = m.session_id AND (s.xmin::TEXT::BIGINT - p_since) & 4294967295 >= 2147483648);
END $$;
