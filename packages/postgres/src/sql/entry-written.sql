-- Has an entry that was written wait for its vector, where there are vectors.
CREATE OR REPLACE FUNCTION assistant_entry_written(p_session TEXT, p_n BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('assistant_entry_vectors') IS NULL THEN RETURN; END IF;
  UPDATE assistant_entry_vectors SET embedder = 0, vector = NULL WHERE session_id = p_session AND n = p_n;
  IF NOT FOUND THEN INSERT INTO assistant_entry_vectors (session_id, n, embedder) VALUES (p_session, p_n, 0); END IF;
END $$;
