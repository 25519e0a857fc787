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

/** `assistant_edited` marks the vector of a message that was edited as old, where there are vectors. */
export const EDITED = `CREATE OR REPLACE FUNCTION assistant_edited(p_session TEXT, p_n BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass('assistant_vectors') IS NOT NULL THEN
    UPDATE assistant_vectors SET embedder = 0 WHERE session_id = p_session AND n = p_n;
  END IF;
END $$`;
