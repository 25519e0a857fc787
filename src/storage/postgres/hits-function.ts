import { SPAN } from "../operations/row-id.js";

/** What both functions give of the row of a message. */
export const HIT_COLUMNS = `n BIGINT, id TEXT, session_id TEXT, branch INTEGER, role TEXT, dated_at TEXT, created_at TIMESTAMPTZ, content TEXT,
  covering BIGINT, covered_by TEXT`;

/** What a hit shows of the messages whose rows `h` names. `written` is the transaction that wrote it. */
export const hitsOf = (
  rows: string,
) => `m.n, m.id, m.session_id, m.branch, m.role, m.dated_at, m.created_at, m.content, c.covering, c.covered_by
    FROM ${rows}
    CROSS JOIN LATERAL (SELECT m.*, m.xmin AS written FROM assistant_messages m WHERE m.session_id = h.session_id AND m.n = h.n OFFSET 0) AS m
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE e.branch IS DISTINCT FROM m.branch) AS covering, json_agg(c.id ORDER BY c.n DESC)::TEXT AS covered_by
      FROM assistant_compactions c LEFT JOIN LATERAL (
        SELECT e.branch FROM assistant_messages e WHERE e.session_id = m.session_id AND e.n = c.to_n OFFSET 0) AS e ON TRUE
      WHERE c.session_id = m.session_id AND c.n BETWEEN m.n - m.n % ${SPAN} AND m.n - m.n % ${SPAN} + ${SPAN - 1}
        AND m.n BETWEEN c.from_n AND c.to_n) AS c`;

// Transactions are numbered in a circle.
const isBefore = (transaction: string) => `(${transaction}::TEXT::BIGINT - p_since) & 4294967295 >= 2147483648`;

/** By which a later statement tells what was written since: any transaction from this one on may have gone on then. */
export const SINCE = "pg_snapshot_xmin(pg_current_snapshot())::TEXT::BIGINT";

/**
 * `assistant_hits` gives the rows of messages by their sessions and numbers: see `FoundRow`. Where it is told since when, only those
 * that no transaction has written that was not over by then; nor may one have written to their session, but to append.
 */
export const HITS = `CREATE OR REPLACE FUNCTION assistant_hits(p_sessions TEXT, p_numbers TEXT, p_since BIGINT)
RETURNS TABLE (${HIT_COLUMNS}) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN QUERY SELECT ${hitsOf("unnest(p_sessions::TEXT[], p_numbers::BIGINT[]) AS h (session_id, n)")}
    WHERE p_since IS NULL OR ${isBefore("m.written")}
      AND EXISTS (SELECT FROM assistant_sessions s WHERE s.id = m.session_id AND ${isBefore("s.xmin")});
END $$`;
