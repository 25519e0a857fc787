-- Has an entry that was written wait for its vector, where there are vectors.
CREATE OR REPLACE FUNCTION assistant_entry_written(p_session TEXT, p_n BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('assistant_entry_vectors') IS NOT NULL THEN
    INSERT INTO assistant_entry_vectors (session_id, n, embedder) VALUES (p_session, p_n, 0)
      ON CONFLICT (session_id, n) DO UPDATE SET embedder = 0, vector = NULL;
  END IF;
END $$;
