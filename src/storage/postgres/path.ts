import { MARK } from "../../model/codec.js";
import { SPAN } from "../operations/row-id.js";
import { messageOf } from "./message-of.js";

/** What `assistant_path` and `assistant_recent` read first, with the rows that they begin with. */
const VIEW_VARIABLES = `  session RECORD;
  leaf RECORD;
  piece RECORD;
  lowest BIGINT;
  numbered BOOLEAN;`;

const FIND_VIEW = `  SELECT s.no, s.leaf, s.skills, s.user_id INTO session FROM assistant_sessions s WHERE s.id = p_session;
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
const IS_LINE = `leaf.branch = 0 AND NOT EXISTS (
    SELECT FROM assistant_compactions c WHERE c.session_id = p_session AND c.n BETWEEN lowest AND lowest + ${SPAN - 1})`;

/** The spans of the visible path, each a `piece` in SQL: ranges of messages of a branch, and summaries; one at 0 where the rows do not fit together. */
const SPANS = `WITH RECURSIVE chain (branch, lo, hi, parent_branch, parent_n, known) AS (
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
const GIVE_SUMMARY = `IF piece.lo = 0 THEN
        RETURN QUERY SELECT 'x', NULL;
        RETURN;
      ELSIF piece.id IS NOT NULL THEN
        RETURN QUERY SELECT 's' || piece.id, piece.summary;`;

/**
 * `assistant_path` gives a first row with the session's number, the leaf, the skill state and the user as JSON, then the visible path:
 * the contents of messages, whose key is `n` and their number where there is a skill state and null otherwise, and
 * summaries, whose key is `s` and the id of their compaction. Where the rows do not fit together a row has the key `x`, and what is
 * wrong the shared operation tells. It sees one state throughout.
 */
export const PATH = `CREATE OR REPLACE FUNCTION assistant_path(p_session TEXT, p_leaf TEXT)
RETURNS TABLE (key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
${VIEW_VARIABLES}
BEGIN
${FIND_VIEW}

  IF ${IS_LINE}
  THEN
    RETURN QUERY SELECT CASE WHEN numbered THEN 'n' || m.n END, m.content FROM assistant_messages m
      WHERE m.session_id = p_session AND m.n BETWEEN lowest AND leaf.n AND m.branch = 0 ORDER BY m.n;
  ELSE
    FOR piece IN
      ${SPANS}
      ORDER BY lo
    LOOP
      ${GIVE_SUMMARY}
      ELSE
        RETURN QUERY SELECT CASE WHEN numbered THEN 'n' || m.n END, m.content FROM assistant_messages m
          WHERE m.session_id = p_session AND m.n BETWEEN piece.lo AND piece.hi AND m.branch = piece.branch ORDER BY m.n;
      END IF;
    END LOOP;
  END IF;
END $$`;

/** So many messages are read at once, at least and at most. */
const [FEWEST, MOST] = [8, 256];

const CUT = `IF taken > p_least AND bytes > p_bytes THEN
      RETURN QUERY SELECT 'm', NULL;
      RETURN;
    END IF;`;

/**
 * `assistant_recent` gives what `assistant_path` does, but the newest message or summary first, and no more than are asked for:
 * `p_least` of them, then on while they have at most `p_bytes` bytes, and one more. A row with the key `m` says that there are others.
 */
export const RECENT = `CREATE OR REPLACE FUNCTION assistant_recent(p_session TEXT, p_leaf TEXT, p_bytes BIGINT, p_least BIGINT)
RETURNS TABLE (key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
${VIEW_VARIABLES}
  message RECORD;
  is_line BOOLEAN;
  before BIGINT;
  wanted BIGINT;
  found_rows BIGINT;
  taken BIGINT := 0;
  bytes BIGINT := 0;
BEGIN
${FIND_VIEW}

  is_line := ${IS_LINE};
  FOR piece IN
    SELECT p.branch, p.lo, p.hi, p.id, p.summary FROM (
      SELECT 0 AS branch, lowest AS lo, leaf.n AS hi, NULL AS id, NULL AS summary WHERE is_line
      UNION ALL
      SELECT * FROM (
      ${SPANS}
      ) AS pieces WHERE NOT is_line) AS p
    ORDER BY p.lo = 0 DESC, p.lo DESC
  LOOP
    ${CUT}
    ${GIVE_SUMMARY}
      taken := taken + 1;
      bytes := bytes + octet_length(piece.summary);
    END IF;
    before := piece.hi + 1;
    WHILE before > piece.lo LOOP
      wanted := least(greatest(${FEWEST}, p_least + 1 - taken), ${MOST});
      found_rows := 0;
      FOR message IN SELECT m.n, m.content FROM assistant_messages m
        WHERE m.session_id = p_session AND m.n >= piece.lo AND m.n < before AND m.branch = piece.branch
        ORDER BY m.n DESC LIMIT wanted
      LOOP
        ${CUT}
        RETURN QUERY SELECT CASE WHEN numbered THEN 'n' || message.n END, message.content;
        before := message.n;
        found_rows := found_rows + 1;
        taken := taken + 1;
        bytes := bytes + octet_length(message.content);
        IF strpos(message.content, '${MARK}') > 0 THEN
          bytes := bytes + (SELECT coalesce(sum(octet_length(d.data)), 0) FROM assistant_media_refs r
            JOIN assistant_media d ON d.session_id = p_session AND d.no = r.no AND d.hash = r.hash
            WHERE r.session_id = p_session AND r.no = session.no AND r.n = message.n);
        END IF;
      END LOOP;
      EXIT WHEN found_rows < wanted;
    END LOOP;
  END LOOP;
END $$`;
