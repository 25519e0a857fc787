-- Makes appends to several sessions in one transaction, and gives for each what `assistant_append` gave, or null where that must be
-- called by itself: for a session that has no row yet, or that another writer has locked. It waits for nobody, so no two calls can wait
-- for each other.
CREATE OR REPLACE FUNCTION assistant_append_each(p_appends TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  a RECORD;
  results TEXT[] := '{}';
BEGIN
  FOR a IN
    SELECT x.* FROM json_to_recordset(p_appends::json) AS x (session TEXT, owner TEXT, now TIMESTAMPTZ, attach TEXT, parent TEXT,
      id TEXT, role TEXT, content TEXT, text TEXT, tokens INTEGER, dated TEXT, length INTEGER, terms TEXT, media TEXT)
  LOOP
    PERFORM FROM assistant_sessions s WHERE s.id = a.session FOR UPDATE SKIP LOCKED;
    results := results || CASE WHEN FOUND THEN assistant_append(a.session, a.owner, a.now, a.attach, a.parent, a.id, a.role,
      a.content, a.text, a.tokens, a.dated, a.length, a.terms, a.media) END;
  END LOOP;
  RETURN to_json(results);
END $$;
