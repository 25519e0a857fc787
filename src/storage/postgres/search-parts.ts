import { MANY, SAMPLED, SMALL } from "./search-limits.js";

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
