import { FEWEST, NEAR, RAREST } from "../../model/rank.js";
import { SPAN } from "../operations/row-id.js";
import { PHRASES, timesOfPhrase } from "./phrase.js";

/** How many documents are counted, and their lengths averaged, in a session or a small table: of more the newest. */
const SAMPLED = 1_000;

/** In so few messages of a range a sequence is looked for in each of them, in more by the inverted index. */
const FEW = 5_000;

/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
export const MANY = 2_000;

/** From so many matches, or more, is estimated how many rows hold what very many do. */
const ESTIMATED_FROM = 50;

/** Rows whose numbers are in one part of so many, or in parts side by side, may stand near each other. */
const PART = 4 * NEAR;

/**
 * So many rows, which stand all over the table, tell how many there are, and which words surely are in more of them than
 * `most`, by this factor. Each is the second one of its page: the first is longer than most, since it had no room on the page before.
 */
const PROBED = 128;
const SURELY = 1.5;

const TIMES_OF_PHRASE = timesOfPhrase("wanted");

/** What a row takes. A table that was just filled has no statistics. Long terms stand outside their rows. */
const WIDTH = "44 + least(pg_column_size(d.terms), 2000)";

const BLOCK = "current_setting('block_size')::BIGINT";

/**
 * `assistant_matches` gives as JSON what `SearchDialect.matches` does, among the rows from `p_lo` to `p_hi` or all, and
 * `assistant_matches_in` among those of a session; null where there is none. Each row comes with its session. How rare a
 * sequence is, is measured in these rows: others have no part in it. Of the `others` there may be some that are too far from
 * any match.
 *
 * Where `most` rows or more hold a sequence, those that the index gives first are not the newest. Then the newest rows are
 * looked at one after the other, until enough of them hold it; how often they do tells how many hold it in all. A word that
 * surely is in so many rows, by what some rows all over the table say, is not looked up in the index at all.
 *
 * Rows are found again by their places in the table (`ctid`). What is to be read by an index, or by places, stands in a
 * subquery of its own: the planner, which prefers an index to sorting, would choose another way.
 */
const matches = (
  name: string,
  session: string,
  own: string,
  rows: string,
) => `CREATE OR REPLACE FUNCTION ${name}(${session}p_lo BIGINT, p_hi BIGINT, p_sequences TEXT, p_limit BIGINT)
RETURNS TEXT LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  lo CONSTANT BIGINT := coalesce(p_lo, 0);
  hi CONSTANT BIGINT := coalesce(p_hi, ${Number.MAX_SAFE_INTEGER});
  sequences CONSTANT TEXT[] := p_sequences;
  amount CONSTANT INTEGER := cardinality(sequences);
  wanted TEXT[];
  word TEXT;
  total FLOAT8;
  mean FLOAT8;
  width FLOAT8;
  probed BIGINT := 0;
  holding BIGINT[];
  highest BIGINT;
  bytes BIGINT;
  is_few BOOLEAN;
  most BIGINT;
  newest BIGINT;
  i INTEGER;
  is_known BOOLEAN[] := array_fill(FALSE, ARRAY[amount]);
  is_often BOOLEAN[] := is_known;
  is_surely BOOLEAN[] := is_known;
  documents BIGINT[] := array_fill(0::BIGINT, ARRAY[amount]);
  starts BIGINT[] := documents;
  ends BIGINT[] := documents;
  scored BIGINT[] := documents;
  places BIGINT;
  place BIGINT;
  held BIGINT;
  rarer BIGINT;
  rank INTEGER := 0;
  found BIGINT[];
  found_in TEXT[];
  found_at TID[];
  all_found BIGINT[] := '{}';
  all_found_in TEXT[] := '{}';
  all_found_at TID[] := '{}';
  chosen INTEGER[] := '{}';
  chosen_at TID[] := '{}';
  forked TEXT[];
  shown JSON[] := array_fill(NULL::JSON, ARRAY[amount]);
  beside INTEGER[] := '{}';
  nearby INTEGER[] := '{}';
  others JSON[] := shown;
  answer RECORD;
BEGIN
  bytes := pg_relation_size('assistant_fts'::regclass);
  IF p_lo IS NULL AND bytes >= ${PROBED} * ${BLOCK} THEN
    found_at := ARRAY(SELECT format('(%s,2)', bytes / ${BLOCK} * k / ${PROBED})::TID FROM generate_series(0, ${PROBED - 1}) AS k);
    WITH probe AS MATERIALIZED (
      SELECT d.terms, d.length, ${WIDTH} AS width FROM assistant_fts d WHERE d.ctid = ANY (found_at)),
    sought AS MATERIALIZED (
      SELECT s.i, s.terms::TEXT[] AS terms FROM unnest(sequences) WITH ORDINALITY AS s (terms, i))
    SELECT p.rows, p.length, p.width, holding.counts INTO probed, mean, width, holding
      FROM (SELECT count(*) AS rows, avg(p.length) AS length, avg(p.width) AS width FROM probe p) AS p, (
        SELECT array_agg((SELECT count(*) FROM probe p WHERE s.terms[1] = ANY (p.terms)) ORDER BY s.i) AS counts
        FROM sought s) AS holding;
  END IF;
  IF probed * 4 >= ${PROBED} THEN
    -- Some of them may be deleted, or of another tenant.
    total := floor(0.5 + bytes / width * probed / ${PROBED});
  ELSE
    holding := NULL;
    SELECT count(*), avg(d.length), avg(d.width), max(d.n) INTO total, mean, width, highest FROM (
      SELECT d.n, d.length, ${WIDTH} AS width FROM assistant_fts d
      WHERE ${own}d.n BETWEEN lo AND hi ORDER BY d.n DESC LIMIT ${SAMPLED}) AS d;
    IF total = 0 THEN RETURN NULL; END IF;
    IF total = ${SAMPLED} THEN
      total := greatest(total, floor(0.5 + ${rows}));
    END IF;
  END IF;
  is_few := p_lo IS NOT NULL AND total <= ${FEW};
  most := greatest(${MANY}, p_limit + 1, ceil(sqrt(p_limit::FLOAT8 / amount * total)));
  newest := ceil(2 * p_limit * total / most);
  IF holding IS NOT NULL AND total > ${SURELY} * most THEN
    FOR i IN 1 .. amount LOOP
      wanted := sequences[i];
      is_surely[i] := cardinality(wanted) = 1 AND holding[i] * total > ${SURELY} * most * probed;
    END LOOP;
  END IF;

  WHILE FALSE = ANY (is_known) LOOP
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN is_known[i] OR is_surely[i];
      wanted := sequences[i];
      word := CASE cardinality(wanted) WHEN 1 THEN wanted[1] END;
      IF is_few THEN
        SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.at) INTO held, found, found_in, found_at FROM (
          SELECT d.n, d.session_id, d.ctid AS at, d.terms FROM assistant_fts d WHERE ${own}d.n BETWEEN lo AND hi OFFSET 0) AS d
          WHERE CASE WHEN word IS NULL THEN d.terms @> wanted ELSE word = ANY (d.terms) END;
      ELSE
        places := CASE WHEN word IS NULL THEN greatest(most, ${PHRASES}) ELSE most END;
        SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.at) INTO held, found, found_in, found_at FROM (
          SELECT d.n, d.session_id, d.at FROM (
            SELECT d.n, d.session_id, d.ctid AS at FROM assistant_fts d WHERE d.terms @> wanted OFFSET 0) AS d
          WHERE ${own}d.n BETWEEN lo AND hi LIMIT places) AS d;
        is_often[i] := held = places;
      END IF;
      IF word IS NULL THEN
        SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.ctid) INTO held, found, found_in, found_at
          FROM assistant_fts d WHERE ${own}d.ctid = ANY (found_at) AND ${TIMES_OF_PHRASE} > 0;
      END IF;
      is_known[i] := NOT is_often[i];
      documents[i] := held;
      starts[i] := cardinality(all_found) + 1;
      all_found := all_found || found;
      all_found_in := all_found_in || found_in;
      all_found_at := all_found_at || found_at;
      ends[i] := cardinality(all_found);
    END LOOP;

    rarer := (SELECT coalesce(sum(d.documents), 0) FROM unnest(documents, is_known) AS d (documents, is_known)
      WHERE d.is_known AND d.documents < most);
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN is_known[i];
      wanted := sequences[i];
      word := CASE cardinality(wanted) WHEN 1 THEN wanted[1] END;
      places := CASE WHEN word IS NULL THEN ${PHRASES} ELSE greatest(${ESTIMATED_FROM}, greatest(p_limit, ${FEWEST}) - rarer) END;
      SELECT count(*), max(d.place), array_agg(d.n), array_agg(d.session_id), array_agg(d.at)
        INTO held, place, found, found_in, found_at FROM (
        SELECT d.n, d.session_id, d.at, d.place FROM (
          SELECT d.n, d.session_id, d.at, d.terms, row_number() OVER (ORDER BY d.n DESC) AS place FROM (
            SELECT d.n, d.session_id, d.ctid AS at, d.terms FROM assistant_fts d
            WHERE ${own}d.n BETWEEN lo AND hi ORDER BY d.n DESC LIMIT newest) AS d) AS d
        WHERE CASE WHEN word IS NULL THEN d.terms @> wanted ELSE word = ANY (d.terms) END LIMIT places) AS d;
      IF is_surely[i] AND held < places THEN
        is_surely[i] := FALSE;
        CONTINUE;
      END IF;
      is_known[i] := TRUE;
      is_often[i] := TRUE;
      documents[i] := greatest(most, round((total * held / CASE WHEN held < places THEN newest ELSE place END)::NUMERIC));
      IF word IS NULL OR held < places THEN
        SELECT count(*), array_agg(d.n), array_agg(d.session_id), array_agg(d.ctid) INTO held, found, found_in, found_at
          FROM assistant_fts d WHERE ${own}d.ctid = ANY (found_at || all_found_at[starts[i] : ends[i]]) AND (word IS NOT NULL OR ${TIMES_OF_PHRASE} > 0);
        IF word IS NULL THEN documents[i] := held; END IF;
      END IF;
      starts[i] := cardinality(all_found) + 1;
      all_found := all_found || found;
      all_found_in := all_found_in || found_in;
      all_found_at := all_found_at || found_at;
      ends[i] := cardinality(all_found);
    END LOOP;
  END LOOP;

  rarer := 0;
  FOREACH i IN ARRAY ARRAY(SELECT d.i FROM unnest(documents) WITH ORDINALITY AS d (documents, i) WHERE d.documents > 0 ORDER BY d.documents, d.i) LOOP
    rank := rank + 1;
    places := greatest(p_limit - rarer, CASE WHEN rank <= ${RAREST} THEN ${FEWEST} ELSE 0 END);
    rarer := rarer + documents[i];
    CONTINUE WHEN places = 0;
    scored[i] := least(places, ends[i] - starts[i] + 1);
    chosen := chosen || array_fill(i, ARRAY[scored[i]::INTEGER]);
    IF scored[i] = ends[i] - starts[i] + 1 THEN
      chosen_at := chosen_at || all_found_at[starts[i] : ends[i]];
    ELSE
      chosen_at := chosen_at || ARRAY(
        SELECT d.at FROM unnest(all_found[starts[i] : ends[i]], all_found_at[starts[i] : ends[i]]) AS d (n, at)
        ORDER BY d.n DESC LIMIT places);
    END IF;
  END LOOP;

  IF (SELECT count(*) FROM unnest(scored) AS s (scored) WHERE s.scored > 0) > 1 THEN
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN scored[i] IN (0, documents[i]);
      IF is_often[i] OR documents[i] >= ${MANY} THEN beside := beside || i;
      ELSE nearby := nearby || i;
      END IF;
    END LOOP;
  END IF;
  FOR answer IN
    WITH sought AS MATERIALIZED (
      SELECT s.i, s.wanted, CASE cardinality(s.wanted) WHEN 1 THEN s.wanted[1] END AS word FROM (
        SELECT s.i, s.terms::TEXT[] AS wanted FROM unnest(sequences) WITH ORDINALITY AS s (terms, i) OFFSET 0) AS s),
    own AS MATERIALIZED (
      SELECT c.i, d.n, d.session_id, d.length, d.terms FROM unnest(chosen, chosen_at) AS c (i, at) CROSS JOIN LATERAL (
        SELECT d.n, d.session_id, d.length, d.terms FROM assistant_fts d WHERE ${own}d.ctid = c.at OFFSET 0) AS d),
    parts AS MATERIALIZED (
      SELECT DISTINCT o.session_id, (o.n + k) / ${PART} AS part FROM own o, unnest(ARRAY[-${NEAR}, ${NEAR}]) AS k WHERE nearby <> '{}')
    SELECT 'shown' AS what, d.i, array_agg(d.n) AS numbers, array_agg(d.session_id) AS sessions, array_agg(d.length) AS lengths,
        array_agg(d.times) AS times FROM (
      SELECT d.i, d.n, d.session_id, d.length,
        CASE WHEN w.word IS NULL THEN ${timesOfPhrase("w.wanted")} ELSE cardinality(array_positions(d.terms, w.word)) END AS times
      FROM own d JOIN sought w ON w.i = d.i) AS d GROUP BY d.i
    UNION ALL
    SELECT 'others', d.i, array_agg(d.n), array_agg(d.session_id), NULL, NULL FROM (
      SELECT b.i, d.n, d.session_id FROM unnest(beside) AS b (i) JOIN sought w ON w.i = b.i CROSS JOIN own d
        WHERE CASE WHEN w.word IS NOT NULL THEN w.word = ANY (d.terms)
          ELSE d.terms @> w.wanted AND ${timesOfPhrase("w.wanted")} > 0 END
      UNION ALL
      SELECT b.i, f.n, f.session_id FROM unnest(nearby) AS b (i)
        CROSS JOIN LATERAL unnest(all_found[starts[b.i] : ends[b.i]], all_found_in[starts[b.i] : ends[b.i]]) AS f (n, session_id)
        JOIN parts p ON p.part = f.n / ${PART} AND p.session_id = f.session_id) AS d GROUP BY d.i
    UNION ALL
    SELECT 'forked', 0, NULL, array_agg(s.session_id), NULL, NULL FROM (SELECT DISTINCT o.session_id FROM own o) AS s
      WHERE (SELECT max(b.branch) FROM assistant_branches b WHERE b.session_id = s.session_id) IS NOT NULL
  LOOP
    CASE answer.what
      WHEN 'shown' THEN shown[answer.i] := json_build_array(answer.numbers, answer.sessions, answer.lengths, answer.times);
      WHEN 'others' THEN others[answer.i] := json_build_array(answer.numbers, answer.sessions);
      ELSE forked := answer.sessions;
    END CASE;
  END LOOP;
  RETURN json_build_object('total', total, 'mean', mean, 'documents', documents, 'scored', shown, 'others', others,
    'forked', coalesce(forked, '{}'));
END $$`;

const OWN = "d.session_id = p_session AND ";

// Rows of a session have numbers that follow each other.
const OF_SESSION = `least(bytes / width, highest - (
        SELECT d.n FROM assistant_fts d WHERE ${OWN}d.n BETWEEN lo AND hi ORDER BY d.n LIMIT 1))`;

export const MATCHES = matches("assistant_matches", "", "", "bytes / width");
export const MATCHES_IN = matches("assistant_matches_in", "p_session TEXT, ", OWN, OF_SESSION);

/** `assistant_hits` gives the rows of messages by their sessions and numbers: see `FoundRow`. */
export const HITS = `CREATE OR REPLACE FUNCTION assistant_hits(p_sessions TEXT, p_numbers TEXT)
RETURNS TABLE (n BIGINT, id TEXT, session_id TEXT, branch INTEGER, role TEXT, dated_at TEXT, created_at TIMESTAMPTZ, content TEXT,
  covering BIGINT) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN QUERY
    SELECT m.n, m.id, m.session_id, m.branch, m.role, m.dated_at, m.created_at, m.content, (
      SELECT count(*) FROM assistant_compactions c WHERE c.session_id = m.session_id
        AND c.n BETWEEN m.n - m.n % ${SPAN} AND m.n - m.n % ${SPAN} + ${SPAN - 1} AND m.n BETWEEN c.from_n AND c.to_n)
    FROM unnest(p_sessions::TEXT[], p_numbers::BIGINT[]) AS h (session_id, n)
    CROSS JOIN LATERAL (SELECT m.* FROM assistant_messages m WHERE m.session_id = h.session_id AND m.n = h.n OFFSET 0) AS m;
END $$`;
