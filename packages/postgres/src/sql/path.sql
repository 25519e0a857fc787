-- Gives the visible path to a leaf in one state of the tables: first what `assistant_view` gives of the session, then the contents of
-- messages, whose key is `n` and their number where there is a skill state and null otherwise, and summaries.
CREATE OR REPLACE FUNCTION assistant_path(p_session TEXT, p_leaf TEXT)
RETURNS TABLE (key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  piece RECORD;
BEGIN
  FOR piece IN SELECT * FROM assistant_view(p_session, p_leaf, FALSE) LOOP
    IF piece.branch IS NULL THEN
      key := piece.key;
      content := piece.content;
      RETURN NEXT;
    ELSE
      RETURN QUERY SELECT piece.key || m.n, m.content FROM assistant_messages m
        WHERE m.session_id = p_session AND m.n BETWEEN piece.lo AND piece.hi AND m.branch = piece.branch ORDER BY m.n;
    END IF;
  END LOOP;
END $$;
