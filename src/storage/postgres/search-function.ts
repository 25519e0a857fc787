import { FEWEST, RAREST } from "../../model/rank.js";

/** How many documents are counted, and their lengths averaged: of more the newest. */
const SAMPLED = 1_000;

/** In so few messages of a range a sequence is looked for in each of them, in more by the inverted index. */
const FEW = 5_000;

/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
export const MANY = 2_000;

/** From so many matches, or more, is estimated how many rows hold what very many do. */
const ESTIMATED_FROM = 100;

/** Rows that are read for a phrase. */
const PHRASES = 10_000;

/** So many rows, which stand all over the table, tell which words very many rows hold, and how many times as many as `most`. */
const PROBED = 256;
const SURELY = 1.5;

// How many times `wanted`, a phrase, stands in a row `d` that holds each of its terms.
const TIMES_OF_PHRASE = `(SELECT count(*) FROM (
        SELECT FROM unnest(wanted) WITH ORDINALITY AS t (term, k)
        CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
        GROUP BY at - k HAVING count(*) = cardinality(wanted)) AS runs)`;

/**
 * `assistant_matches` gives as JSON what `SearchDialect.matches` and `holding` do: the sequences' matches, each
 * `[documents, numbers, lengths, times, others]`, among the rows from `p_lo` to `p_hi`, or all. Numbers ascend. How rare a
 * sequence is, is measured in these rows: others have no part in it.
 *
 * Where `most` rows or more hold a sequence, those that the index gives first are not the newest. Then the newest rows are
 * looked at one after the other, until enough of them hold it; how often they do tells how many hold it in all. A word that
 * surely is in more rows, by what some rows all over the table say, is not looked up in the index before.
 */
export const MATCHES = `CREATE OR REPLACE FUNCTION assistant_matches(p_lo BIGINT, p_hi BIGINT, p_sequences TEXT, p_limit BIGINT)
RETURNS TEXT LANGUAGE plpgsql STABLE SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  lo CONSTANT BIGINT := coalesce(p_lo, 0);
  hi CONSTANT BIGINT := coalesce(p_hi, ${Number.MAX_SAFE_INTEGER});
  sequences CONSTANT TEXT[] := p_sequences;
  amount CONSTANT INTEGER := cardinality(sequences);
  wanted TEXT[];
  is_word BOOLEAN;
  total FLOAT8;
  mean FLOAT8;
  width FLOAT8;
  highest BIGINT;
  blocks BIGINT;
  is_few BOOLEAN;
  most BIGINT;
  newest BIGINT;
  probes TID[];
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
  i INTEGER;
  rank INTEGER := 0;
  found BIGINT[];
  found_at TID[];
  all_found BIGINT[] := '{}';
  all_found_at TID[] := '{}';
  shown_at TID[] := '{}';
  shown JSON[] := array_fill(NULL::JSON, ARRAY[amount]);
  others JSON[] := shown;
BEGIN
  SELECT count(*), avg(d.length), avg(44 + least(d.width, 2000)), max(d.n) INTO total, mean, width, highest
    FROM (SELECT d.n, d.length, pg_column_size(d.terms) AS width FROM assistant_fts d
      WHERE d.n BETWEEN lo AND hi ORDER BY d.n DESC LIMIT ${SAMPLED}) AS d;
  IF total = ${SAMPLED} THEN
    blocks := pg_relation_size('assistant_fts'::regclass) / current_setting('block_size')::BIGINT;
    total := greatest(total, floor(0.5 + least(highest - lo, blocks * current_setting('block_size')::FLOAT8 / width)));
  END IF;
  is_few := p_lo IS NOT NULL AND total <= ${FEW};
  most := greatest(${MANY}, p_limit + 1, ceil(sqrt(p_limit::FLOAT8 / amount * total)));
  newest := ceil(2 * p_limit * total / most);
  IF p_lo IS NULL AND total > ${SURELY} * most THEN
    probes := ARRAY(SELECT format('(%s,1)', blocks * k / ${PROBED})::TID FROM generate_series(0, ${PROBED - 1}) AS k);
    is_surely := ARRAY(
      WITH probe AS MATERIALIZED (SELECT d.terms FROM assistant_fts d WHERE d.ctid = ANY (probes)),
      each AS (SELECT blocks * current_setting('block_size')::BIGINT / sum(44 + least(pg_column_size(p.terms), 2000)) AS rows FROM probe p)
      SELECT cardinality(s.terms) = 1
        AND (SELECT count(*) FROM probe p WHERE p.terms @> s.terms) * (SELECT e.rows FROM each e) > ${SURELY} * most
      FROM (SELECT s.i, s.terms::TEXT[] AS terms FROM unnest(sequences) WITH ORDINALITY AS s (terms, i) OFFSET 0) AS s ORDER BY s.i);
  END IF;

  WHILE FALSE = ANY (is_known) LOOP
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN is_known[i] OR is_surely[i];
      wanted := sequences[i];
      is_word := cardinality(wanted) = 1;
      IF is_few THEN
        SELECT count(*), array_agg(d.n), array_agg(d.ctid) INTO held, found, found_at FROM (
          SELECT d.n, d.ctid, d.terms FROM assistant_fts d WHERE d.n BETWEEN lo AND hi ORDER BY d.n DESC OFFSET 0) AS d
          WHERE d.terms @> wanted;
      ELSE
        places := CASE WHEN is_word THEN most ELSE greatest(most, ${PHRASES}) END;
        WITH held AS MATERIALIZED (
          SELECT d.n, d.ctid FROM (SELECT d.n, d.ctid FROM assistant_fts d WHERE d.terms @> wanted OFFSET 0) AS d
          WHERE d.n BETWEEN lo AND hi LIMIT places)
        SELECT (SELECT count(*) FROM held), array_agg(d.n), array_agg(d.ctid) INTO held, found, found_at FROM (
          SELECT d.n, d.ctid FROM held d ORDER BY d.n DESC
          LIMIT CASE WHEN is_word THEN greatest(${MANY}, p_limit) ELSE ${PHRASES} END) AS d;
        is_often[i] := held = places;
      END IF;
      IF NOT is_word THEN
        SELECT count(*), array_agg(d.n), array_agg(d.ctid) INTO held, found, found_at FROM (
          SELECT d.n, d.ctid FROM assistant_fts d WHERE d.ctid = ANY (found_at) AND ${TIMES_OF_PHRASE} > 0 ORDER BY d.n DESC) AS d;
      END IF;
      is_known[i] := NOT is_often[i];
      documents[i] := held;
      starts[i] := cardinality(all_found) + 1;
      all_found := all_found || found;
      all_found_at := all_found_at || found_at;
      ends[i] := cardinality(all_found);
    END LOOP;

    rarer := (SELECT coalesce(sum(d.documents), 0) FROM unnest(documents, is_known) AS d (documents, is_known)
      WHERE d.is_known AND d.documents < most);
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN is_known[i];
      wanted := sequences[i];
      is_word := cardinality(wanted) = 1;
      places := CASE WHEN is_word THEN greatest(${ESTIMATED_FROM}, p_limit - rarer, ${FEWEST} - rarer) ELSE ${PHRASES} END;
      SELECT count(*), max(d.place), array_agg(d.n), array_agg(d.ctid) INTO held, place, found, found_at FROM (
        SELECT d.n, d.ctid, d.place FROM (
          SELECT d.n, d.ctid, d.terms, row_number() OVER (ORDER BY d.n DESC) AS place FROM (
            SELECT d.n, d.ctid, d.terms FROM assistant_fts d WHERE d.n BETWEEN lo AND hi ORDER BY d.n DESC LIMIT newest) AS d) AS d
        WHERE d.terms @> wanted LIMIT places) AS d;
      IF held < places AND is_surely[i] THEN
        is_surely[i] := FALSE;
        CONTINUE;
      END IF;
      is_known[i] := TRUE;
      documents[i] := greatest(most, round((total * held / CASE WHEN held < places THEN newest ELSE place END)::NUMERIC));
      IF NOT is_word OR held < places THEN
        -- Older ones, and of a phrase those rows that have it.
        SELECT count(*), array_agg(d.n), array_agg(d.ctid) INTO held, found, found_at FROM (
          SELECT d.n, d.ctid FROM assistant_fts d
          WHERE d.ctid = ANY (found_at || all_found_at[starts[i] : ends[i]]) AND (is_word OR ${TIMES_OF_PHRASE} > 0) ORDER BY d.n DESC) AS d;
        IF NOT is_word THEN documents[i] := held; END IF;
      END IF;
      starts[i] := cardinality(all_found) + 1;
      all_found := all_found || found;
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
    is_word := cardinality(wanted) = 1;
    found_at := all_found_at[starts[i] : least(ends[i], starts[i] + places - 1)];
    shown_at := shown_at || found_at;
    scored[i] := cardinality(found_at);
    shown[i] := (SELECT json_build_array(array_to_json(array_agg(d.n)), array_to_json(array_agg(d.length)), array_to_json(array_agg(
        CASE WHEN is_word THEN cardinality(array_positions(d.terms, wanted[1])) ELSE ${TIMES_OF_PHRASE} END)))
      FROM (SELECT d.n, d.length, d.terms FROM assistant_fts d WHERE d.ctid = ANY (found_at) ORDER BY d.n) AS d);
  END LOOP;

  IF (SELECT count(*) FROM unnest(scored) AS s (scored) WHERE s.scored > 0) > 1 THEN
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN scored[i] IN (0, documents[i]);
      wanted := sequences[i];
      is_word := cardinality(wanted) = 1;
      others[i] := CASE WHEN documents[i] < ${MANY} AND NOT is_often[i] THEN array_to_json(all_found[starts[i] : ends[i]])
        ELSE (SELECT array_to_json(array_agg(d.n)) FROM assistant_fts d
          WHERE d.ctid = ANY (shown_at) AND d.terms @> wanted AND (is_word OR ${TIMES_OF_PHRASE} > 0)) END;
    END LOOP;
  END IF;
  RETURN json_build_object('total', total, 'mean', mean, 'documents', documents, 'shown', shown, 'others', others);
END $$`;
