/** SQL for when a session is registered, in microseconds: it tells a session from others of its number, and from one of its id that is gone. */
export const REGISTERED = "(floor(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";

/**
 * `assistant_number` as it was until version 16, when a number was one session's. It has the rights of the owner, so that a role which may write to the
 * tables needs none on the sequence. In a cluster of Citus one server has the sequence, the coordinator; others ask it.
 */
export const UNIQUE_NUMBER = `CREATE OR REPLACE FUNCTION assistant_number() RETURNS BIGINT LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  sequence TEXT := 'assistant_session_no';
  is_here BOOLEAN := to_regproc('pg_catalog.citus_is_coordinator') IS NULL;
  answer RECORD;
BEGIN
  IF NOT is_here THEN EXECUTE 'SELECT pg_catalog.citus_is_coordinator()' INTO is_here; END IF;
  IF is_here THEN RETURN nextval(sequence); END IF;
  IF strpos(sequence, '.') = 0 THEN sequence := quote_ident(current_schema()) || '.' || sequence; END IF;
  EXECUTE 'SELECT success, result FROM pg_catalog.run_command_on_coordinator($1)' INTO answer
    USING format('SELECT nextval(%L)', sequence);
  IF NOT answer.success THEN RAISE EXCEPTION '%', answer.result USING ERRCODE = '08006'; END IF;
  RETURN answer.result::BIGINT;
END $$`;
