-- Makes other writers of a session wait until the transaction ends. A row that is not there cannot be locked, so its id is: whoever
-- registers a session locks that first. After the call the session's row is locked, or there is none and none comes.
CREATE OR REPLACE FUNCTION assistant_lock(p_session TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(p_session, 1));
    PERFORM FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  END IF;
END $$;
