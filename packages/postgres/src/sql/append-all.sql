-- Appends messages one after the other, and gives what `assistant_append` does, with a digit for each of them. Of ten or more, new ones
-- that follow each other are written together, as one set behind the first of them: to prepare a set takes as long as eight appends.
CREATE OR REPLACE FUNCTION assistant_append_all(p_session TEXT, p_user TEXT, p_now TIMESTAMPTZ, p_messages TEXT)
RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  m RECORD;
  result JSON;
  flags TEXT := '';
  as_set BOOLEAN := json_array_length(p_messages::json) >= 10;
  -- Ids that are in the tree already, or that several of the messages have.
  known TEXT[];
  wanted TEXT[];
  -- The message behind which the others follow; null while the last one was not inserted.
  first_id TEXT;
  first_n BIGINT;
  first_branch INTEGER;
  last_id TEXT;
  visible BIGINT;
  ids TEXT[] := '{}';
  roles TEXT[];
  contents TEXT[];
  texts TEXT[];
  sizes INTEGER[];
  dates TEXT[];
  lengths INTEGER[];
  words TEXT[];
  outside TEXT[];
BEGIN
  IF as_set THEN
    PERFORM assistant_lock(p_session);
    SELECT array_agg(g.id), coalesce(array_agg(g.id) FILTER (WHERE g.times > 1), '{}') INTO wanted, known
      FROM (SELECT x.id, count(*) AS times FROM json_to_recordset(p_messages::json) AS x (id TEXT) GROUP BY x.id) AS g;
    known := known || ARRAY(SELECT found.id FROM unnest(wanted) AS g (id) CROSS JOIN LATERAL (
      SELECT t.id FROM assistant_messages t
        WHERE t.session_id = p_session AND t.id BETWEEN g.id AND g.id ORDER BY t.id LIMIT 1) AS found);
  END IF;
  FOR m IN
    SELECT x.* FROM json_to_recordset(p_messages::json) AS x (attach TEXT, parent TEXT, id TEXT, role TEXT,
      content TEXT, text TEXT, tokens INTEGER, dated TEXT, length INTEGER, terms TEXT, media TEXT)
    -- The end.
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  LOOP
    IF m.attach = 'message' AND m.parent = last_id AND NOT m.id = ANY (known)
      AND (first_n + cardinality(ids)) % 268435456 < 268435455
    THEN
      last_id := m.id;
      visible := visible + m.tokens;
      flags := flags || '1';
      ids := ids || m.id;
      roles := roles || m.role;
      contents := contents || m.content;
      texts := texts || m.text;
      sizes := sizes || m.tokens;
      dates := dates || m.dated;
      lengths := lengths || m.length;
      words := words || m.terms;
      outside := outside || m.media;
      CONTINUE;
    END IF;

    IF cardinality(ids) > 0 THEN
      INSERT INTO assistant_messages
        (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content, text_content)
        SELECT first_n + r.k, r.id, p_session, CASE WHEN r.k = 1 THEN first_id ELSE ids[r.k - 1] END, r.role, p_now,
            first_branch, r.tokens, visible - sum(r.tokens) OVER () + sum(r.tokens) OVER (ORDER BY r.k), r.dated, r.content, r.text
          FROM unnest(ids, roles, sizes, dates, contents, texts) WITH ORDINALITY
            AS r (id, role, tokens, dated, content, text, k);
      INSERT INTO assistant_fts (session_id, n, length, terms)
        SELECT p_session, first_n + r.k, r.length, string_to_array(r.terms, ' ')
          FROM unnest(lengths, words) WITH ORDINALITY AS r (length, terms, k) WHERE r.length > 0;
      IF num_nonnulls(VARIADIC outside) > 0 THEN
        INSERT INTO assistant_media_refs (session_id, no, n, hash)
          SELECT p_session, first_n / 268435456, first_n + r.k, d.hash
            FROM unnest(outside) WITH ORDINALITY AS r (media, k), json_to_recordset(r.media::json) AS d (hash TEXT);
        INSERT INTO assistant_media (session_id, no, hash, part, data)
          SELECT p_session, first_n / 268435456, d.hash, 0, d.data
            FROM unnest(outside) AS r (media), json_to_recordset(r.media::json) AS d (hash TEXT, data TEXT)
          ON CONFLICT DO NOTHING;
      END IF;
      result := json_build_array(1, last_id, visible);
      ids := '{}';
    END IF;
    EXIT WHEN m.id IS NULL;

    result := assistant_append(p_session, p_user, p_now, m.attach, m.parent, m.id, m.role, m.content, m.text, m.tokens, m.dated,
      m.length, m.terms, m.media);
    flags := flags || (result->>0);
    -- Of one that was known these are null, and nothing follows it here.
    last_id := CASE WHEN as_set AND result->>3 IS NOT NULL THEN m.id END;
    first_id := last_id;
    visible := result->>2;
    first_n := result->>3;
    first_branch := result->>4;
    roles := '{}'; contents := '{}'; texts := '{}'; sizes := '{}'; dates := '{}';
    lengths := '{}'; words := '{}'; outside := '{}';
  END LOOP;
  RETURN json_build_array(flags, result->1, result->2)::TEXT;
END $$;
