import { MARK } from "@stemma/model";
import { FIND_VIEW, GIVE_SUMMARY, IS_LINE, SPANS, VIEW_VARIABLES } from "./read-path.js";

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
