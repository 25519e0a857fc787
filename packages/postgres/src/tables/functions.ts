import { MAX_NUMBER } from "@stemma/store";

const LOCK_ID = (id: string) => `PERFORM pg_advisory_xact_lock(hashtextextended(${id}, 1))`;

/**
 * `assistant_lock` makes other writers of a session wait until the transaction ends. A row that is not there cannot be locked,
 * so its id is: whoever registers a session locks that first. Behind the call the session's row is locked, or there is none
 * and none comes.
 */
export const LOCK = `CREATE OR REPLACE FUNCTION assistant_lock(p_session TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  IF NOT FOUND THEN
    ${LOCK_ID("p_session")};
    PERFORM FROM assistant_sessions s WHERE s.id = p_session FOR UPDATE;
  END IF;
END $$`;

/**
 * `assistant_number` gives a new session's number: the minute in which it is registered, counted from 2020. Sessions of one
 * minute share it, so no server asks another one. It grows, so that a search over all sessions begins with the newest.
 */
export const NUMBER = `CREATE OR REPLACE FUNCTION assistant_number() RETURNS BIGINT LANGUAGE sql AS $$
  SELECT least(greatest(floor((extract(epoch FROM clock_timestamp()) - 1577836800) / 60)::BIGINT, 1), ${MAX_NUMBER})
$$`;

/** SQL for when a session is registered, in microseconds: it tells a session from others of its number, and from one of its id that is gone. */
export const REGISTERED = "(floor(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";

/**
 * The same until version 16, when a number was one session's. It has the rights of the owner, so that a role which may write to the
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

/** `assistant_edited` marks the vector of a message that was edited as old, where there are vectors. */
export const EDITED = `CREATE OR REPLACE FUNCTION assistant_edited(p_session TEXT, p_n BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('assistant_vectors') IS NOT NULL THEN
    UPDATE assistant_vectors SET embedder = 0 WHERE session_id = p_session AND n = p_n;
  END IF;
END $$`;
