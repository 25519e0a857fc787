import { ESTIMATED_FROM, FEW_PAGES, MANY, PROBED, PROBED_AGAIN, ROWS_IN_ORDER, SURELY } from "./search-limits.js";
import {
  lookByIndex,
  MOST,
  newestFirst,
  OF_WORD,
  PROBES,
  rowsOf,
  type Scope,
  sample,
  TIMES_OF_WORD,
  WIDTH,
} from "./search-parts.js";

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
