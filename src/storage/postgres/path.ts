import { FIND_VIEW, GIVE_SUMMARY, IS_LINE, SPANS, VIEW_VARIABLES } from "./visible-path.js";

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
