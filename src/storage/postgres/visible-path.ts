import { SPAN } from "../operations/row-id.js";
import { messageOf } from "./message-of.js";

/** What `assistant_path` and `assistant_recent` read first, with the rows that they begin with. */
export const VIEW_VARIABLES = `  session RECORD;
  leaf RECORD;
  piece RECORD;
  lowest BIGINT;
  numbered BOOLEAN;`;

export const FIND_VIEW = `  SELECT s.no, s.leaf, s.skills, s.user_id INTO session FROM assistant_sessions s WHERE s.id = p_session;
  IF NOT FOUND THEN RETURN; END IF;
  lowest := session.no * ${SPAN};
  numbered := session.skills IS NOT NULL;
  IF p_leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM ${messageOf("m", "id", "p_leaf")};
  ELSIF session.leaf IS NOT NULL THEN
    SELECT m.n, m.branch INTO leaf FROM ${messageOf("m", "n", "session.leaf")};
  ELSE
    SELECT m.n, m.branch INTO leaf FROM assistant_messages m
      WHERE m.session_id = p_session AND m.n BETWEEN lowest AND lowest + ${SPAN - 1} ORDER BY m.n DESC LIMIT 1;
  END IF;
  RETURN QUERY SELECT NULL::TEXT,
    json_build_object('no', session.no, 'leaf', leaf.n, 'chosen', session.leaf, 'skills', session.skills,
      'user', session.user_id)::TEXT;
  IF leaf.n IS NULL THEN RETURN; END IF;`;

/** Whether the path is a line without compactions, which is one span. */
export const IS_LINE = `leaf.branch = 0 AND NOT EXISTS (
    SELECT FROM assistant_compactions c WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1})`;

/** The spans of the visible path, each a `piece` in SQL: ranges of messages of a branch, and summaries; one at 0 where the rows do not fit together. */
export const SPANS = `WITH RECURSIVE chain (branch, lo, hi, parent_branch, parent_n, known) AS (
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
          SELECT m.n FROM ${messageOf("m", "n", "c.to_n")}) AS m ON TRUE
          WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1} AND (c.to_n IS NOT NULL OR c.from_n IS NOT NULL)
          AND (m.n IS NULL OR coalesce(c.from_n > c.to_n, TRUE) OR c.from_n < lowest)
      ), compactions AS (
        -- Whoever has a compaction's end on its path has its whole range there.
        SELECT c.id, c.summary, c.from_n, int8range(c.from_n, c.to_n, '[]') AS range,
               row_number() OVER (ORDER BY c.n DESC) AS age
          FROM assistant_compactions c CROSS JOIN LATERAL (
            SELECT m.n, m.branch FROM ${messageOf("m", "n", "c.to_n")}) AS m
          JOIN chain s ON s.branch = m.branch AND m.n BETWEEN s.lo AND s.hi
          WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1}
      ), chosen (age, covered, taken) AS (
        -- The newest wins wherever two overlap.
        SELECT 0::BIGINT, '{}'::INT8MULTIRANGE, FALSE
        UNION ALL
        SELECT o.age,
               CASE WHEN c.covered && o.range THEN c.covered ELSE c.covered + int8multirange(o.range) END,
               NOT c.covered && o.range
          FROM chosen c JOIN compactions o ON o.age = c.age + 1
      )
      SELECT s.branch, lower(part) AS lo, upper(part) - 1 AS hi, NULL AS id, NULL AS summary
        FROM chain s CROSS JOIN (SELECT c.covered FROM chosen c ORDER BY c.age DESC LIMIT 1) AS whole
        CROSS JOIN LATERAL unnest(int8multirange(int8range(s.lo, s.hi, '[]')) - whole.covered) AS part
        WHERE s.lo <= s.hi
      UNION ALL
      SELECT NULL, o.from_n, NULL, o.id, o.summary FROM compactions o JOIN chosen c ON c.age = o.age AND c.taken
      UNION ALL
      SELECT NULL, 0, NULL, NULL, NULL WHERE EXISTS (SELECT FROM broken)`;

/** What both functions do first with a span: nothing is given of rows that do not fit together. */
export const GIVE_SUMMARY = `IF piece.lo = 0 THEN
        RETURN QUERY SELECT 'x', NULL;
        RETURN;
      ELSIF piece.id IS NOT NULL THEN
        RETURN QUERY SELECT 's' || piece.id, piece.summary;`;
