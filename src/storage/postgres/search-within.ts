import { LARGE, ONCE, ONCE_OF_SESSIONS, PROBED, ROWS_IN_ORDER, SAMPLED, SURELY } from "./search-limits.js";
import { lookAtNewest, lookByIndex, newestFirst, PROBES, rowsOf, type Scope, sample } from "./search-parts.js";

const IN_SESSION = "d.session_id = p_session AND ";
const IS_OF_SESSIONS = "d.session_id = ANY (p_sessions)";

// The index that begins with the numbers gives the rows of all sessions: it seems to serve where numbers are asked for, or their order.
const IN_SESSIONS = `assistant_fts d WHERE ${IS_OF_SESSIONS}`;
const ROWS_OF_SESSIONS = `(SELECT d.n, d.session_id, d.length, d.terms, d.ctid FROM ${IN_SESSIONS} OFFSET 0) AS d`;

// Rows of a session have numbers that follow each other.
const SIZE_OF_SESSION = `    ${sample(
  newestFirst(IN_SESSION),
  `least(bytes / width, highest - (
        SELECT d.n FROM ${rowsOf(IN_SESSION)} ORDER BY d.n LIMIT 1))`,
)}`;

const SIZE_OF_SESSIONS = `    ${sample(ROWS_OF_SESSIONS, `(SELECT count(*) FROM ${IN_SESSIONS})`)}`;

// Some rows of the table tell which sequences are in so many that the session is read sooner. Once for all of them where it is not
// long; where it is, its newest rows tell which words are in very many of its own.
const probeSessions = (rows: string, once: number) => `  pages := bytes / current_setting('block_size')::BIGINT;
  IF pages > ${LARGE} AND NOT is_few THEN
    probes := ${PROBED};
    WITH probe AS MATERIALIZED (SELECT d.terms FROM assistant_fts d WHERE d.ctid = ANY (${PROBES}))
    SELECT array_agg((SELECT count(*) FROM probe d WHERE d.terms @> s.wanted::TEXT[]) * bytes / width / probes ORDER BY s.i)
      INTO guesses FROM unnest(sequences) WITH ORDINALITY AS s (wanted, i);
    IF total <= ${once} THEN
      is_few := ${ROWS_IN_ORDER} * (SELECT sum(g) FROM unnest(guesses) AS g) > total * (1 + amount);
    ELSE
      WITH newest AS MATERIALIZED (SELECT d.terms FROM ${rows} ORDER BY d.n DESC LIMIT ${SAMPLED})
      SELECT array_agg((SELECT count(*) FROM newest d WHERE s.word = ANY (d.terms)) * total > ${SURELY} * most * ${SAMPLED} ORDER BY s.i)
        INTO is_surely FROM unnest(words) WITH ORDINALITY AS s (word, i);
    END IF;
  END IF;`;

// To look for a sequence in a row takes as long again as to read it.
const IS_READ_SOONER = `${ROWS_IN_ORDER} * guesses[i] > 2 * total`;

const lookInSessions = (own: string, rows: string) => `IF ${IS_READ_SOONER} THEN
        depth := hi - lo + 1;
        ${lookAtNewest(rows)}
      ELSE
        ${lookByIndex(own)}
      END IF;`;

const within = (argument: string, own: string, rows: string, size: string, once: number): Scope => ({
  argument,
  own,
  rows,
  size,
  probe: probeSessions(rows, once),
  mayGuess: `pages > ${LARGE} AND NOT is_few`,
  isSettled: IS_READ_SOONER,
  decide: "",
  look: lookInSessions(own, rows),
  depth: "newest",
});

/** Among the rows of a session, and of several. */
export const WITHIN_SESSION = within("p_session TEXT, ", IN_SESSION, rowsOf(IN_SESSION), SIZE_OF_SESSION, ONCE);
export const WITHIN_SESSIONS = within(
  "p_sessions TEXT[], ",
  `${IS_OF_SESSIONS} AND `,
  ROWS_OF_SESSIONS,
  SIZE_OF_SESSIONS,
  ONCE_OF_SESSIONS,
);
