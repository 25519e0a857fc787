// Longer than 300 lines: it is one function of the database, for all sessions and for one.
import { FEWEST, NEAR, RAREST } from "@stemma/model";
import { HIT_COLUMNS, hitsOf, PHRASES, SINCE, timesOfPhrase } from "./hits-function.js";
import {
  BY_INDEX,
  ESTIMATED_FROM,
  FEW,
  FIRST,
  FOUND,
  lookAtNewest,
  MANY,
  PART,
  type Scope,
  timesOfWord,
  UNSORTED,
  WHOLE,
  WITHIN_SESSION,
  WITHIN_SESSIONS,
} from "./search-parts.js";

const TIMES_OF_PHRASE = timesOfPhrase("wanted");

// Of the rows found, as far as they are of sessions that have several branches, and of which there are several. Most sessions have
// one branch, so first is looked for all of them at once.
const FIND_BRANCHES = `forked := ARRAY(SELECT DISTINCT b.session_id FROM assistant_branches b WHERE b.session_id = ANY (ARRAY(
      SELECT d.session_id FROM unnest(found_in) AS d (session_id) GROUP BY d.session_id HAVING count(*) > 1)));
    IF cardinality(forked) > 0 THEN
      branches := (SELECT json_build_array(array_agg(m.n), array_agg(m.session_id), array_agg(m.branch))
        FROM unnest(forked) AS s (session_id) JOIN unnest(found_n, found_in) AS d (n, session_id) ON d.session_id = s.session_id
        CROSS JOIN LATERAL (SELECT m.n, m.session_id, m.branch FROM assistant_messages m WHERE m.session_id = d.session_id AND m.n = d.n OFFSET 0) AS m);
    END IF;`;

/**
 * What is asked for the sequence at hand, by how often it stands in a row and by whether it does. A word has a statement of its own:
 * to begin one that could count a phrase takes as long as to read some dozens of rows.
 */
const ofKind = (statement: (times: string, holds: string) => string) => `IF word IS NULL THEN
        ${statement(TIMES_OF_PHRASE, `d.terms @> wanted AND ${TIMES_OF_PHRASE} > 0`)}
      ELSE
        ${statement(timesOfWord("word"), "word = ANY (d.terms)")}
      END IF;`;

// Of the sequence `i`, whose rows are read once more before they are shown.
const KEEP_FOUND = `starts[i] := cardinality(all_n) + 1;
      all_n := all_n || found_n;
      all_in := all_in || found_in;
      all_at := all_at || found_at;
      ends[i] := cardinality(all_n);`;

const keepPhrases = (
  own: string,
) => `SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.ctid) INTO held, ${FOUND}
          FROM assistant_fts d WHERE ${own}d.ctid = ANY (found_at) AND ${TIMES_OF_PHRASE} > 0;`;

// Where a sequence is in fewer rows, these are all. Otherwise the place of the last of them tells how many there are.
const lookAtFirst = (
  own: string,
) => `SELECT count(*), (array_agg(d.at))[${FIRST}], array_agg(d.n) FILTER (WHERE d.is_own),
        array_agg(d.session_id) FILTER (WHERE d.is_own), array_agg(d.at) FILTER (WHERE d.is_own) INTO held, last, ${FOUND} FROM (
        SELECT * FROM (${BY_INDEX(own)}) AS d LIMIT ${FIRST}) AS d;
      IF held = ${FIRST} THEN
        guesses[i] := held * pages / (1 + (last::TEXT::POINT)[0]);
        CONTINUE;
      END IF;
      held := coalesce(cardinality(found_n), 0);
      IF word IS NULL AND held > 0 THEN
        ${keepPhrases(own)}
      END IF;
      is_known[i] := TRUE;
      documents[i] := held;
      ${KEEP_FOUND}`;

/**
 * Each function gives in its first row as JSON what `SearchDialect.matches` does, null where there are no rows: `assistant_matches` among
 * the rows from `p_lo` to `p_hi` or all, `assistant_matches_in` among those of a session, `assistant_matches_among` among those of
 * several. Each row comes with its session. How rare a sequence is, is measured in these rows: others have no part in it. Of the
 * `others` there may be some that are too far from any match.
 *
 * Of one word that no more than `p_limit` messages hold all is known by the first rows that are read. Where no more than `p_shown` do,
 * their rows follow. Whatever takes longer stands in a block of its own: to make its variables would take as long as all that.
 *
 * Where `most` rows or more hold a sequence, those that the index gives first are not the newest. Then the newest rows are
 * looked at one after the other, until enough of them hold it; how often they do tells how many hold it in all. A word that
 * surely is in so many rows, by what some rows all over the table say, is not looked up in the index at all. Of others the first rows
 * that the index gives may tell that it takes longer to read all of them than those that follow each other: see `Scope`.
 *
 * Rows are found again by their places in the table (`ctid`). What is to be read by an index, or by places, stands in a
 * subquery of its own: the planner, which prefers an index to sorting, would choose another way.
 */
const matches = (
  name: string,
  { argument, own, rows, size, probe, mayGuess, isSettled, decide, look, depth }: Scope,
) => `CREATE OR REPLACE FUNCTION ${name}(${argument}p_lo BIGINT, p_hi BIGINT, p_sequences TEXT, p_word TEXT, p_limit BIGINT, p_shown BIGINT)
RETURNS TABLE (matches TEXT, ${HIT_COLUMNS}) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  bytes BIGINT;
  pages BIGINT;
  probes BIGINT;
  probed BIGINT;
  holding BIGINT;
  total FLOAT8;
  mean FLOAT8;
  width FLOAT8;
  highest BIGINT;
  most BIGINT;
  held BIGINT;
  found_n BIGINT[];
  found_in TEXT[];
  lengths INTEGER[];
  times BIGINT[];
  is_small BOOLEAN;
  is_whole BOOLEAN := FALSE;
  forked TEXT[];
  branches JSON;
BEGIN
${size}
  IF held <= p_limit THEN
    -- Of one word all is known.
    is_whole := held BETWEEN 1 AND p_shown;
    IF held > p_shown THEN
      ${FIND_BRANCHES}
    END IF;
    matches := json_build_object('total', total, 'mean', mean, 'documents', ARRAY[held], 'scored',
      CASE WHEN held > 0 THEN json_build_array(json_build_array(found_n, found_in, lengths, times)) ELSE '[]' END,
      'others', '{}'::INTEGER[], 'branches', branches, 'since', ${SINCE});
    RETURN NEXT;
    IF is_whole THEN
      RETURN QUERY SELECT NULL::TEXT, ${hitsOf("unnest(found_in, found_n) AS h (session_id, n)")};
    END IF;
    RETURN;
  END IF;
DECLARE
  lo CONSTANT BIGINT := coalesce(p_lo, 0);
  hi CONSTANT BIGINT := coalesce(p_hi, ${Number.MAX_SAFE_INTEGER});
  sequences CONSTANT TEXT[] := p_sequences;
  amount CONSTANT INTEGER := cardinality(sequences);
  words TEXT[];
  wanted TEXT[];
  word TEXT;
  is_few BOOLEAN := p_lo IS NOT NULL AND total <= ${FEW};
  newest CONSTANT BIGINT := ceil(2 * p_limit * total / most);
  depth BIGINT;
  i INTEGER;
  is_known BOOLEAN[] := array_fill(FALSE, ARRAY[amount]);
  is_often BOOLEAN[] := is_known;
  is_surely BOOLEAN[] := is_known;
  is_doubtful BOOLEAN[] := array_fill(TRUE, ARRAY[amount]);
  guesses FLOAT8[] := array_fill(0::FLOAT8, ARRAY[amount]);
  last TID;
  documents BIGINT[] := array_fill(0::BIGINT, ARRAY[amount]);
  starts BIGINT[] := documents;
  ends BIGINT[] := documents;
  scored BIGINT[] := documents;
  places BIGINT;
  place BIGINT;
  rarer BIGINT := 0;
  found_at TID[];
  all_n BIGINT[] := '{}';
  all_in TEXT[] := '{}';
  all_at TID[] := '{}';
  all_lengths INTEGER[] := '{}';
  all_times BIGINT[] := '{}';
  ordered INTEGER[] := '{1}';
  chosen_n BIGINT[] := '{}';
  chosen_in TEXT[] := '{}';
  chosen_at TID[] := '{}';
  shown JSON[] := array_fill(NULL::JSON, ARRAY[amount]);
  beside INTEGER[] := '{}';
  nearby INTEGER[] := '{}';
  others JSON[] := shown;
  answer RECORD;
BEGIN
  FOR i IN 1 .. amount LOOP
    wanted := sequences[i];
    words[i] := CASE cardinality(wanted) WHEN 1 THEN wanted[1] END;
  END LOOP;
${probe}
  IF ${mayGuess} THEN
    FOR i IN 1 .. amount LOOP
      wanted := sequences[i];
      word := words[i];
      CONTINUE WHEN is_surely[i] OR ${isSettled};
      ${lookAtFirst(own)}
    END LOOP;
    ${decide}
  END IF;

  IF is_few THEN
    FOR answer IN
      SELECT d.i, count(*) AS held, array_agg(d.n) AS numbers, array_agg(d.session_id) AS sessions, array_agg(d.at) AS places,
          array_agg(d.length) AS lengths, array_agg(d.times) AS times FROM (
        SELECT s.i, d.n, d.session_id, d.at, d.length, CASE WHEN s.word IS NOT NULL THEN cardinality(array_positions(d.terms, s.word))
          WHEN d.terms @> s.wanted::TEXT[] THEN ${timesOfPhrase("s.wanted::TEXT[]")} ELSE 0 END AS times
        FROM (SELECT d.n, d.session_id, d.ctid AS at, d.length, d.terms FROM ${rows} OFFSET 0) AS d
        CROSS JOIN unnest(sequences, words) WITH ORDINALITY AS s (wanted, word, i) OFFSET 0) AS d WHERE d.times > 0 GROUP BY d.i
    LOOP
      i := answer.i;
      documents[i] := answer.held;
      starts[i] := cardinality(all_n) + 1;
      all_n := all_n || answer.numbers;
      all_in := all_in || answer.sessions;
      all_at := all_at || answer.places;
      all_lengths := all_lengths || answer.lengths;
      all_times := all_times || answer.times;
      ends[i] := cardinality(all_n);
    END LOOP;
    is_known := array_fill(TRUE, ARRAY[amount]);
  END IF;
  WHILE FALSE = ANY (is_known) LOOP
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN is_known[i] OR is_surely[i];
      wanted := sequences[i];
      word := words[i];
      places := CASE WHEN word IS NULL THEN greatest(most, ${PHRASES}) ELSE most END;
      ${look}
      is_often[i] := held = places;
      IF word IS NULL THEN
        ${keepPhrases(own)}
      END IF;
      is_known[i] := NOT is_often[i];
      documents[i] := held;
      ${KEEP_FOUND}
    END LOOP;

    rarer := (SELECT coalesce(sum(d.documents), 0) FROM unnest(documents, is_known) AS d (documents, is_known)
      WHERE d.is_known AND d.documents < most);
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN is_known[i];
      wanted := sequences[i];
      word := words[i];
      places := CASE WHEN word IS NULL THEN ${PHRASES} ELSE greatest(${ESTIMATED_FROM}, greatest(p_limit, ${FEWEST}) - rarer) END;
      depth := ${depth};
      ${lookAtNewest(rows)}
      IF is_surely[i] AND held < places THEN
        is_surely[i] := FALSE;
        CONTINUE;
      END IF;
      is_known[i] := TRUE;
      documents[i] := greatest(CASE WHEN is_often[i] THEN most ELSE ${MANY} END, round((total * held / CASE WHEN held < places THEN depth ELSE place END)::NUMERIC));
      is_often[i] := TRUE;
      IF word IS NULL OR held < places THEN
        SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.ctid) INTO held, found_n, found_in, found_at
          FROM assistant_fts d WHERE ${own}d.ctid = ANY (found_at || all_at[starts[i] : ends[i]]) AND (word IS NOT NULL OR ${TIMES_OF_PHRASE} > 0);
        IF word IS NULL THEN documents[i] := held; END IF;
      END IF;
      ${KEEP_FOUND}
    END LOOP;
  END LOOP;

  IF amount > 1 THEN
    ordered := ARRAY(SELECT d.i FROM unnest(documents) WITH ORDINALITY AS d (documents, i) ORDER BY d.documents, d.i);
  END IF;
  rarer := 0;
  place := 0;
  FOREACH i IN ARRAY ordered LOOP
    CONTINUE WHEN documents[i] = 0;
    place := place + 1;
    places := greatest(p_limit - rarer, CASE WHEN place <= ${RAREST} THEN ${FEWEST} ELSE 0 END);
    rarer := rarer + documents[i];
    CONTINUE WHEN places = 0;
    found_n := all_n[starts[i] : ends[i]];
    found_in := all_in[starts[i] : ends[i]];
    found_at := all_at[starts[i] : ends[i]];
    scored[i] := least(places, cardinality(found_n));
    IF scored[i] = cardinality(found_n) AND is_few THEN
      shown[i] := json_build_array(found_n, found_in, all_lengths[starts[i] : ends[i]], all_times[starts[i] : ends[i]]);
    ELSE
      wanted := sequences[i];
      word := words[i];
      IF scored[i] < cardinality(found_n) THEN
        found_at := ARRAY(SELECT d.at FROM unnest(found_n, found_at) AS d (n, at) ORDER BY d.n DESC LIMIT places);
      END IF;
      ${ofKind(
        (times) => `SELECT array_agg(d.n), array_agg(d.session_id), array_agg(d.length), array_agg(${times})
        INTO found_n, found_in, lengths, times FROM assistant_fts d WHERE ${own}d.ctid = ANY (found_at);`,
      )}
      shown[i] := json_build_array(found_n, found_in, lengths, times);
    END IF;
    chosen_n := chosen_n || found_n;
    chosen_in := chosen_in || found_in;
    chosen_at := chosen_at || found_at;
  END LOOP;

  held := 0;
  IF cardinality(chosen_n) > scored[ordered[amount]] THEN
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN scored[i] IN (0, documents[i]);
      IF is_often[i] OR documents[i] >= ${MANY} THEN beside := beside || i;
      ELSE
        nearby := nearby || i;
        held := held + ends[i] - starts[i] + 1;
      END IF;
    END LOOP;
  END IF;
  found_n := chosen_n;
  found_in := chosen_in;
  FOREACH i IN ARRAY beside LOOP
    wanted := sequences[i];
    word := words[i];
    -- Rows that were chosen already.
    ${ofKind(
      (_, holds) => `SELECT json_build_array(array_agg(d.n), array_agg(d.session_id)) INTO answer
      FROM assistant_fts d WHERE ${own}d.ctid = ANY (chosen_at) AND ${holds};`,
    )}
    others[i] := answer.json_build_array;
  END LOOP;
  IF held <= ${UNSORTED} THEN
    FOREACH i IN ARRAY nearby LOOP
      others[i] := json_build_array(all_n[starts[i] : ends[i]], all_in[starts[i] : ends[i]]);
      found_n := found_n || all_n[starts[i] : ends[i]];
      found_in := found_in || all_in[starts[i] : ends[i]];
    END LOOP;
  ELSE
    FOR answer IN
      WITH parts AS MATERIALIZED (
        SELECT DISTINCT o.session_id, (o.n + k) / ${PART} AS part FROM unnest(chosen_n, chosen_in) AS o (n, session_id), unnest(ARRAY[-${NEAR}, ${NEAR}]) AS k)
      SELECT b.i, array_agg(f.n) AS numbers, array_agg(f.session_id) AS sessions FROM unnest(nearby) AS b (i)
        CROSS JOIN LATERAL unnest(all_n[starts[b.i] : ends[b.i]], all_in[starts[b.i] : ends[b.i]]) AS f (n, session_id)
        JOIN parts p ON p.part = f.n / ${PART} AND p.session_id = f.session_id GROUP BY b.i
    LOOP
      others[answer.i] := json_build_array(answer.numbers, answer.sessions);
      found_n := found_n || answer.numbers;
      found_in := found_in || answer.sessions;
    END LOOP;
  END IF;
  ${FIND_BRANCHES}
  matches := json_build_object('total', total, 'mean', mean, 'documents', documents, 'scored', shown, 'others', others,
    'branches', branches, 'since', ${SINCE});
  RETURN NEXT;
  -- All that match.
  IF cardinality(found_n) BETWEEN 1 AND p_shown AND cardinality(chosen_n) = rarer THEN
    RETURN QUERY SELECT NULL::TEXT, ${hitsOf("(SELECT DISTINCT f.session_id, f.n FROM unnest(found_in, found_n) AS f (session_id, n)) AS h")};
  END IF;
END;
END $$`;

export const MATCHES = matches("assistant_matches", WHOLE);
export const MATCHES_IN = matches("assistant_matches_in", WITHIN_SESSION);
export const MATCHES_AMONG = matches("assistant_matches_among", WITHIN_SESSIONS);
