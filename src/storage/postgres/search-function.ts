import { FEWEST, NEAR, RAREST } from "../../model/rank.js";
import { SPAN } from "../operations/row-id.js";
import { PHRASES, timesOfPhrase } from "./phrase.js";

/** How many documents are counted, and their lengths averaged: of more the newest. */
const SAMPLED = 1_000;

/** In so few messages of a range a sequence is looked for in each of them, in more by the inverted index. */
const FEW = 5_000;

/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
export const MANY = 2_000;

/** From so many matches, or more, is estimated how many rows hold what very many do. */
const ESTIMATED_FROM = 100;

/** So many rows, which stand all over the table, tell which words surely are in more rows than `most`, by this factor. */
const PROBED = 128;
const SURELY = 1.5;

const TIMES_OF_PHRASE = timesOfPhrase("wanted");

const BLOCK = "current_setting('block_size')::BIGINT";

/**
 * `assistant_matches` gives as JSON what `SearchDialect.matches` does, among the rows from `p_lo` to `p_hi` or all, and
 * `assistant_matches_in` among those of a session; null where there is none. Each row comes with its session. How rare a sequence is, is measured in these rows: others have no part in it.
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
  shown_at TID[] := '{}';
  all_shown BIGINT[] := '{}';
  all_shown_in TEXT[] := '{}';
  shown JSON[] := array_fill(NULL::JSON, ARRAY[amount]);
  beside INTEGER[] := '{}';
  nearby INTEGER[] := '{}';
  others JSON[] := shown;
  answer RECORD;
BEGIN
  SELECT count(*), avg(d.length), avg(44 + least(d.width, 2000)), max(d.n) INTO total, mean, width, highest FROM (
    SELECT d.n, d.length, pg_column_size(d.terms) AS width FROM assistant_fts d
    WHERE ${own}d.n BETWEEN lo AND hi ORDER BY d.n DESC LIMIT ${SAMPLED}) AS d;
  IF total = 0 THEN RETURN NULL; END IF;
  IF total = ${SAMPLED} THEN
    -- A table that was just filled has no statistics. Long terms stand outside their rows.
    bytes := pg_relation_size('assistant_fts'::regclass);
    total := greatest(total, floor(0.5 + ${own === "" ? "" : "least(highest - lo, "}bytes / width${own === "" ? "" : ")"}));
  END IF;
  is_few := p_lo IS NOT NULL AND total <= ${FEW};
  most := greatest(${MANY}, p_limit + 1, ceil(sqrt(p_limit::FLOAT8 / amount * total)));
  newest := ceil(2 * p_limit * total / most);
  IF p_lo IS NULL AND total > ${SURELY} * most THEN
    found_at := ARRAY(SELECT format('(%s,1)', bytes / ${BLOCK} * k / ${PROBED})::TID FROM generate_series(0, ${PROBED - 1}) AS k);
    WITH probe AS MATERIALIZED (SELECT d.terms FROM assistant_fts d WHERE d.ctid = ANY (found_at)),
    wanted AS MATERIALIZED (
      SELECT s.i, s.terms::TEXT[] AS terms FROM unnest(sequences) WITH ORDINALITY AS s (terms, i))
    SELECT array_agg(cardinality(w.terms) = 1 AND p.holding * bytes > ${SURELY} * most * p.width ORDER BY w.i) INTO is_surely
      FROM wanted w CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE w.terms[1] = ANY (p.terms)) AS holding, sum(44 + least(pg_column_size(p.terms), 2000)) AS width
        FROM probe p) AS p;
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
    wanted := sequences[i];
    word := CASE cardinality(wanted) WHEN 1 THEN wanted[1] END;
    found_at := all_found_at[starts[i] : ends[i]];
    IF cardinality(found_at) > places THEN
      found_at := ARRAY(SELECT d.at FROM unnest(all_found[starts[i] : ends[i]], found_at) AS d (n, at) ORDER BY d.n DESC LIMIT places);
    END IF;
    scored[i] := cardinality(found_at);
    SELECT array_agg(d.n) AS numbers, array_agg(d.length) AS lengths, array_agg(d.times) AS times,
      array_agg(d.session_id) AS sessions INTO answer FROM (
      SELECT d.n, d.session_id, d.length, CASE WHEN word IS NULL THEN ${TIMES_OF_PHRASE} ELSE cardinality(array_positions(d.terms, word)) END AS times
      FROM (SELECT d.n, d.session_id, d.length, d.terms FROM assistant_fts d WHERE ${own}d.ctid = ANY (found_at) OFFSET 0) AS d
      ORDER BY d.n) AS d;
    shown_at := shown_at || found_at;
    all_shown := all_shown || answer.numbers;
    all_shown_in := all_shown_in || answer.sessions;
    shown[i] := json_build_array(answer.numbers, answer.sessions, answer.lengths, answer.times);
  END LOOP;

  IF (SELECT count(*) FROM unnest(scored) AS s (scored) WHERE s.scored > 0) > 1 THEN
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN scored[i] IN (0, documents[i]);
      IF is_often[i] OR documents[i] >= ${MANY} THEN beside := beside || i;
      ELSE nearby := nearby || i;
      END IF;
    END LOOP;
    FOR answer IN
      WITH near AS MATERIALIZED (
        SELECT DISTINCT s.n + k AS n, s.session_id FROM unnest(all_shown, all_shown_in) AS s (n, session_id),
          generate_series(-${NEAR}, ${NEAR}) AS k)
      SELECT b.i, array_agg(f.n) AS numbers, array_agg(f.session_id) AS sessions FROM unnest(nearby) AS b (i)
        CROSS JOIN LATERAL unnest(all_found[starts[b.i] : ends[b.i]], all_found_in[starts[b.i] : ends[b.i]]) AS f (n, session_id)
        JOIN near ON near.n = f.n AND near.session_id = f.session_id GROUP BY b.i
    LOOP
      others[answer.i] := json_build_array(answer.numbers, answer.sessions);
    END LOOP;
    FOR answer IN
      WITH own AS MATERIALIZED (SELECT d.n, d.session_id, d.terms FROM assistant_fts d WHERE ${own}d.ctid = ANY (shown_at))
      SELECT b.i, o.numbers, o.sessions FROM unnest(beside) AS b (i) CROSS JOIN LATERAL (
        SELECT sequences[b.i]::TEXT[] AS wanted OFFSET 0) AS w CROSS JOIN LATERAL (
        SELECT array_agg(d.n) AS numbers, array_agg(d.session_id) AS sessions FROM own d
        WHERE CASE cardinality(w.wanted) WHEN 1 THEN w.wanted[1] = ANY (d.terms)
          ELSE d.terms @> w.wanted AND ${timesOfPhrase("w.wanted")} > 0 END) AS o
    LOOP
      others[answer.i] := json_build_array(answer.numbers, answer.sessions);
    END LOOP;
  END IF;
  RETURN json_build_object('total', total, 'mean', mean, 'documents', documents, 'scored', shown, 'others', others, 'forked', ARRAY(
    SELECT s.session_id FROM (SELECT DISTINCT s.session_id FROM unnest(all_shown_in) AS s (session_id)) AS s
    WHERE (SELECT max(b.branch) FROM assistant_branches b WHERE b.session_id = s.session_id) IS NOT NULL));
END $$`;

export const MATCHES = matches("assistant_matches", "", "");
export const MATCHES_IN = matches("assistant_matches_in", "p_session TEXT, ", "d.session_id = p_session AND ");

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
