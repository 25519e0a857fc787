import { NEAR } from "@stemma/model";

/** How many documents are counted, and their lengths averaged, in a session or a small table: of more the newest. */
const SAMPLED = 1_000;

/** In so few a word is looked for where they are counted. */
const SMALL = 250;

/** In so few messages of a range a sequence is looked for in each of them, in more by the inverted index. */
export const FEW = 5_000;

/**
 * And in so few, where they are read sooner than the rows of all sessions that hold the sequences. Those of several sessions are put
 * in order for each sequence otherwise.
 */
const ONCE = 20_000;
const ONCE_OF_SESSIONS = 100_000;

/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
export const MANY = 2_000;

/** From so many matches, or more, is estimated how many rows hold what very many do. */
export const ESTIMATED_FROM = 50;

/** A table of fewer pages is small. */
const FEW_PAGES = 32;

/** Rows whose numbers are in one part of so many, or in parts side by side, may stand near each other. */
export const PART = 4 * NEAR;

/**
 * So many rows, which stand all over the table, tell how many there are, and which words surely are in more of them than
 * `most`, by this factor. Each is the second one of its page: the first is longer than most, since it had no room on the page before.
 */
const PROBED = 64;
const SURELY = 1.5;

/** So many are looked at where those hold a word, but in too few of them to tell. To read these takes less than to look the word up. */
const PROBED_AGAIN = 256;

/** From how far the first rows go that the index gives, in the order of the table, is guessed how many hold a sequence. */
export const FIRST = 1_000;

/** In a table of fewer pages a session is not much shorter than all. */
const LARGE = 1_000;

/** To read a row that the index gives takes as long as to read so many that follow each other. */
const ROWS_IN_ORDER = 3;

/** Rows of a sequence that others may stand beside are given as they are, where they are no more. */
export const UNSORTED = 1_000;

/** What each of the functions does in its own way. */
export interface Scope {
  /** An argument of its own. */
  readonly argument: string;
  /** Of a row `d`, that it is of the scope. */
  readonly own: string;
  /** The rows of the scope as `d`, which may be put in their order. */
  readonly rows: string;
  /** Finds `total`, `mean`, `width` and `most`, and all of one rare word. */
  readonly size: string;
  /** Finds which words surely are in more rows than `most`. */
  readonly probe: string;
  /** Whether to guess how many rows of the table hold a sequence, before all of them are read. */
  readonly mayGuess: string;
  /** True of a sequence of which that is not needed. */
  readonly isSettled: string;
  /** Makes use of what was guessed. */
  readonly decide: string;
  /** Finds the rows of a sequence, `places` at most. */
  readonly look: string;
  /** How many of the newest rows are looked at, one after the other, for the sequence at hand. */
  readonly depth: string;
}

export const FOUND = "found_n, found_in, found_at";

export const timesOfWord = (word: string) => `cardinality(array_positions(d.terms, ${word}))`;

/** To be read by the index, in which order so ever. */
export const BY_INDEX = (own: string) => `SELECT d.n, d.session_id, d.ctid AS at, ${own}d.n BETWEEN lo AND hi AS is_own
        FROM assistant_fts d WHERE d.terms @> wanted OFFSET 0`;

export const lookByIndex = (
  own: string,
) => `SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.at) INTO held, ${FOUND} FROM (
        SELECT d.n, d.session_id, d.at FROM (${BY_INDEX(own)}) AS d WHERE d.is_own LIMIT places) AS d;`;

/** `rows` are those of the scope. */
export const lookAtNewest = (
  rows: string,
) => `SELECT count(*), max(d.place), array_agg(d.n), array_agg(d.session_id), array_agg(d.at)
        INTO held, place, ${FOUND} FROM (
        SELECT d.n, d.session_id, d.at, d.place FROM (
          SELECT d.n, d.session_id, d.at, d.holds, row_number() OVER (ORDER BY d.n DESC) AS place FROM (
            SELECT d.n, d.session_id, d.ctid AS at, CASE WHEN word IS NULL THEN d.terms @> wanted ELSE word = ANY (d.terms) END AS holds
            FROM ${rows} ORDER BY d.n DESC LIMIT depth) AS d) AS d
        WHERE d.holds LIMIT places) AS d;`;

export const TIMES_OF_WORD = timesOfWord("p_word");

/** What a row takes. A table that was just filled has no statistics. Long terms stand outside their rows. */
export const WIDTH = "44 + least(pg_column_size(d.terms), 2000)";

/** Where rows all over the table stand (`ctid`). */
export const PROBES = `ARRAY(SELECT format('(%s,2)', pages * k / probes)::TID FROM generate_series(0, probes - 1) AS k)`;

/** Of one word the matches, and how often it stands in each. */
export const OF_WORD = (
  where: string,
  held: string,
) => `count(*)${where}, array_agg(d.n)${where}, array_agg(d.session_id)${where}, array_agg(d.length)${where}, array_agg(d.times)${where}
      INTO ${held}held, found_n, found_in, lengths, times`;

const BOUNDS = `d.n BETWEEN coalesce(p_lo, 0) AND coalesce(p_hi, ${Number.MAX_SAFE_INTEGER})`;

export const rowsOf = (own: string) => `assistant_fts d WHERE ${own}${BOUNDS}`;

export const newestFirst = (own: string) => `${rowsOf(own)} ORDER BY d.n DESC`;

export const MOST = `greatest(${MANY}, p_limit + 1, ceil(sqrt(p_limit::FLOAT8 / cardinality(p_sequences::TEXT[]) * total)))`;

// Up to so many rows are looked at one after the other. Where these are few and all, the word is looked for in them. `count` tells how
// many there are.
export const sample = (
  rows: string,
  count: string,
) => `is_small := p_word IS NOT NULL AND NOT EXISTS (SELECT FROM ${rows} OFFSET ${SMALL});
    SELECT count(*), avg(d.length), avg(d.width), max(d.n), ${OF_WORD(" FILTER (WHERE d.times > 0)", "total, mean, width, highest, ")} FROM (
      SELECT d.n, d.session_id, d.length, ${WIDTH} AS width, CASE WHEN is_small THEN ${TIMES_OF_WORD} END AS times
      FROM ${rows} LIMIT ${SAMPLED}) AS d;
    IF total = 0 THEN RETURN; END IF;
    IF NOT is_small THEN held := NULL; END IF;
    IF total = ${SAMPLED} THEN
      bytes := coalesce(bytes, pg_relation_size('assistant_fts'::regclass));
      -- In a schema that Citus keeps on one server the table is an empty shell, wherever the function runs.
      IF bytes = 0 AND to_regproc('citus_relation_size') IS NOT NULL THEN
        EXECUTE 'SELECT citus_relation_size($1)' INTO bytes USING 'assistant_fts'::regclass;
      END IF;
      total := greatest(total, floor(0.5 + ${count}));
    END IF;
    most := ${MOST};`;

const SIZE = `  IF p_lo IS NULL THEN
    bytes := pg_relation_size('assistant_fts'::regclass);
    pages := bytes / current_setting('block_size')::BIGINT;
    probes := least(pages, ${PROBED});
    IF probes >= ${FEW_PAGES} THEN
      SELECT count(*), avg(d.length), avg(${WIDTH}), count(*) FILTER (WHERE p_word = ANY (d.terms)) INTO probed, mean, width, holding
        FROM assistant_fts d WHERE d.ctid = ANY (${PROBES});
    END IF;
  END IF;
  -- Some of them may be deleted, or of another tenant.
  IF probed > 0 AND probed * 4 >= probes THEN
    total := floor(0.5 + bytes / width * probed / probes);
    most := ${MOST};
    IF p_word IS NOT NULL AND holding * total <= ${SURELY} * most * probed THEN
      SELECT ${OF_WORD("", "")} FROM (
        SELECT d.n, d.session_id, d.length, ${TIMES_OF_WORD} AS times FROM (
          SELECT d.n, d.session_id, d.length, d.terms FROM assistant_fts d WHERE d.terms @> ARRAY[p_word] OFFSET 0) AS d
        LIMIT p_limit + 1) AS d;
    END IF;
  ELSE
    probes := 0;
    ${sample(newestFirst(""), "bytes / width")}
  END IF;`;

const PROBE = `  IF probes > 0 AND total > ${SURELY} * most THEN
    -- Of one word these were looked at.
    is_surely[1] := amount = 1 AND holding * total > ${SURELY} * most * probed;
    is_doubtful[1] := amount > 1 OR (holding > 0 AND NOT is_surely[1]);
    FOREACH probes IN ARRAY CASE amount WHEN 1 THEN ARRAY[${PROBED_AGAIN}] ELSE ARRAY[probes, ${PROBED_AGAIN}] END LOOP
      EXIT WHEN TRUE <> ALL (is_doubtful);
      probes := least(pages, probes);
      WITH probe AS MATERIALIZED (SELECT d.terms FROM assistant_fts d WHERE d.ctid = ANY (${PROBES})),
      looked AS MATERIALIZED (
        SELECT s.i, s.is_surely, CASE WHEN s.is_doubtful THEN (SELECT count(*) FROM probe p WHERE s.word = ANY (p.terms)) ELSE 0 END AS holding,
          ${SURELY} * most * (SELECT count(*) FROM probe) AS sure
        FROM unnest(words, is_surely, is_doubtful) WITH ORDINALITY AS s (word, is_surely, is_doubtful, i))
      SELECT array_agg(l.is_surely OR l.holding * total > l.sure ORDER BY l.i), array_agg(l.holding > 0 AND l.holding * total <= l.sure ORDER BY l.i)
        INTO is_surely, is_doubtful FROM looked l;
    END LOOP;
  END IF;`;

// A word in so many rows that enough of them are found sooner among the newest rows is looked for like one that is in very many.
const DECIDE = `rarer := (SELECT coalesce(sum(d.documents + d.guess), 0) FROM unnest(documents, guesses) AS d (documents, guess)
      WHERE d.documents + d.guess < ${MANY});
    FOR i IN 1 .. amount LOOP
      is_surely[i] := is_surely[i] OR (words[i] IS NOT NULL AND guesses[i] >= ${MANY}
        AND ${ROWS_IN_ORDER} * guesses[i] * guesses[i] > greatest(${ESTIMATED_FROM}, p_limit - rarer) * total);
    END LOOP;`;

/** Among all rows. */
export const WHOLE: Scope = {
  argument: "",
  own: "",
  rows: rowsOf(""),
  size: SIZE,
  probe: PROBE,
  // It saves nothing but what is between these: of fewer rows all are read, and more than `most` are not looked up.
  mayGuess: `amount > 1 AND most > ${SURELY} * greatest(${MANY}, sqrt(${ESTIMATED_FROM} * total / ${ROWS_IN_ORDER}))`,
  isSettled: "word IS NULL",
  decide: DECIDE,
  look: lookByIndex(""),
  depth: `CASE WHEN is_often[i] OR guesses[i] = 0 THEN newest ELSE ceil(2 * places * total / guesses[i]) END`,
};

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
