-- Marks the vector of a message that was edited as old, where there are vectors.
CREATE OR REPLACE FUNCTION assistant_edited(p_session TEXT, p_n BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('assistant_vectors') IS NOT NULL THEN
    UPDATE assistant_vectors SET embedder = 0 WHERE session_id = p_session AND n = p_n;
  END IF;
END $$;
