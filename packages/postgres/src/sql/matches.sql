-- Finds the messages that hold each of some sequences of terms, among all or among those of some sessions. Gives as JSON in the first row
-- what `SearchDialect.matches` does, or no row where there are no messages. How rare a sequence is, is measured among these messages.
-- Of the `others` there may be some that are too far from any match. Where no more than `p_shown` match, their rows follow.
--
-- Rows from all over the table tell about how many hold a sequence. One that many hold is looked for among the newest rows, and how often
-- these hold it tells how many do in all. Others are looked up in the inverted index; if that gives as many as are read, these are not the
-- newest, and the newest are looked at as well. Rows are found again by their places in the table (`ctid`).
--
-- What is to be read by an index, or by places, stands in a subquery of its own: the planner, which prefers an index to sorting, would
-- choose another way.
CREATE OR REPLACE FUNCTION assistant_matches(p_sessions TEXT[], p_lo BIGINT, p_hi BIGINT, p_sequences TEXT, p_limit BIGINT, p_shown BIGINT)
RETURNS TABLE (matches TEXT, n BIGINT, id TEXT, session_id TEXT, branch INTEGER, role TEXT, dated_at TEXT, created_at TIMESTAMPTZ,
  content TEXT, covering BIGINT, covered_by TEXT) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- Rows that are read to tell how large a scope is and how long its messages are; pages, all over the table, of which one is.
  sampled CONSTANT BIGINT := 1000;
  probed CONSTANT BIGINT := 256;
  -- A sequence in so many messages is in too many to look for it beside each match. From so many is estimated how many hold it.
  many CONSTANT BIGINT := 2000;
  estimated_from CONSTANT BIGINT := 50;
  -- So many are counted in sessions that are read.
  counted CONSTANT BIGINT := 20000;
  -- To read a row that the inverted index gives takes as long as to read so many that follow each other.
  in_order CONSTANT BIGINT := 3;
  -- Rows that are read for a phrase.
  phrases CONSTANT BIGINT := 10000;
  -- Of so many of the rarest sequences at least so many matches are scored.
  rarest CONSTANT BIGINT := 16;
  fewest CONSTANT BIGINT := 30;

  sequences CONSTANT TEXT[] := p_sequences;
  amount CONSTANT INTEGER := cardinality(sequences);
  lo CONSTANT BIGINT := coalesce(p_lo, 0);
  hi CONSTANT BIGINT := coalesce(p_hi, 9007199254740991);
  total FLOAT8;
  mean FLOAT8;
  bytes BIGINT;
  pages BIGINT;
  in_table FLOAT8;
  seen BIGINT := 0;
  table_mean FLOAT8;
  holding BIGINT[];
  most BIGINT;
  i INTEGER;
  wanted TEXT[];
  share FLOAT8;
  places BIGINT;
  depth BIGINT;
  is_scan BOOLEAN;
  is_known BOOLEAN;
  most_read BIGINT;
  found RECORD;
  newest RECORD;
  rarer BIGINT := 0;
  rank BIGINT := 0;
  rows_at TID[];
  is_often BOOLEAN[] := array_fill(FALSE, ARRAY[amount]);
  documents BIGINT[] := array_fill(0::BIGINT, ARRAY[amount]);
  starts BIGINT[] := documents;
  ends BIGINT[] := documents;
  scored BIGINT[] := documents;
  all_n BIGINT[] := '{}';
  all_in TEXT[] := '{}';
  all_lengths INTEGER[] := '{}';
  all_at TID[] := '{}';
  chosen_n BIGINT[];
  chosen_in TEXT[];
  chosen_at TID[] := '{}';
  shown JSON[] := array_fill(NULL::JSON, ARRAY[amount]);
  others JSON[] := shown;
  branches JSON;
BEGIN
  -- How many messages there are.
  IF p_sessions IS NOT NULL THEN
    SELECT count(*), avg(d.length) INTO total, mean FROM (
      SELECT d.length FROM assistant_fts d WHERE d.session_id = ANY (p_sessions) LIMIT sampled) AS d;
  END IF;
  IF p_sessions IS NULL OR total = sampled THEN
    bytes := pg_relation_size('assistant_fts'::regclass);
    pages := bytes / current_setting('block_size')::BIGINT;
    -- The second row of each page: the first is longer than most, since it had no room on the page before. Long terms stand outside.
    WITH probe AS MATERIALIZED (
      SELECT d.length, 44 + least(pg_column_size(d.terms), 2000) AS width, d.terms FROM assistant_fts d
        WHERE d.ctid = ANY (ARRAY(SELECT format('(%s,2)', pages * k / probed)::TID FROM generate_series(0, probed - 1) AS k)))
    SELECT count(*), avg(p.length), bytes / avg(p.width) * count(*) / least(pages, probed),
        ARRAY(SELECT (SELECT count(*) FROM probe p WHERE p.terms @> s.wanted::TEXT[])
          FROM unnest(sequences) WITH ORDINALITY AS s (wanted, i) ORDER BY s.i)
      INTO seen, table_mean, in_table, holding FROM probe p;
    -- Some may be deleted, or of another tenant. In a schema that Citus keeps on one server the table is an empty shell.
    IF pages < 32 OR seen * 4 < least(pages, probed) THEN
      seen := 0;
      IF bytes = 0 AND to_regproc('citus_relation_size') IS NOT NULL THEN
        EXECUTE 'SELECT citus_relation_size($1)' INTO bytes USING 'assistant_fts'::regclass;
      END IF;
      SELECT avg(d.length), CASE count(*) WHEN sampled THEN greatest(sampled, bytes / avg(d.width)) ELSE count(*) END
        INTO table_mean, in_table FROM (
          SELECT d.length, 44 + least(pg_column_size(d.terms), 2000) AS width FROM assistant_fts d
            WHERE d.n BETWEEN lo AND hi ORDER BY d.n DESC LIMIT sampled) AS d;
    END IF;
    IF p_sessions IS NULL THEN
      total := round(in_table);
      mean := table_mean;
    ELSE
      -- Numbers of a session's rows follow each other.
      total := least(round(in_table), (SELECT sum(r.last - r.first + 1) FROM unnest(p_sessions) AS s (id) CROSS JOIN LATERAL (
        SELECT min(d.n) AS first, max(d.n) AS last FROM assistant_fts d WHERE d.session_id = s.id) AS r));
    END IF;
  END IF;
  IF total = 0 THEN RETURN; END IF;
  most := greatest(many, p_limit + 1, ceil(sqrt(p_limit::FLOAT8 / amount * total)));

  -- The rows that hold each sequence, the rarest first.
  FOR i, wanted, share IN
    SELECT s.i, s.wanted::TEXT[], CASE WHEN seen > 0 THEN holding[s.i] / seen::FLOAT8 ELSE 0 END
      FROM unnest(sequences) WITH ORDINALITY AS s (wanted, i) ORDER BY 3, 1
  LOOP
    IF p_sessions IS NULL THEN
      places := CASE WHEN cardinality(wanted) > 1 THEN phrases ELSE greatest(estimated_from, greatest(p_limit, fewest) - rarer) END;
      is_scan := share * in_table >= many AND in_order * share * share * in_table > places;
      depth := ceil(2 * CASE WHEN is_scan THEN places / share ELSE p_limit * total / most END);
    ELSE
      places := greatest(most, counted);
      -- Of a sequence that none of them holds there may be so many all the same as one of them stands for.
      is_scan := total < sampled OR in_order * greatest(share, 1 / greatest(seen, 1)::FLOAT8) * in_table > total;
      depth := hi;
    END IF;
    is_known := FALSE;
    IF is_scan THEN
      SELECT * INTO newest FROM assistant_newest(p_sessions, lo, hi, wanted, depth, places);
      is_known := newest.held = places OR p_sessions IS NOT NULL;
    END IF;
    IF is_known THEN
      found := newest;
      is_often[i] := newest.held = places;
      documents[i] := CASE WHEN is_often[i] THEN greatest(many, round(total * newest.held / newest.place)) ELSE newest.held END;
    ELSE
      most_read := CASE WHEN cardinality(wanted) > 1 THEN greatest(most, phrases) ELSE most END;
      SELECT count(*) AS held, array_agg(d.n) AS numbers, array_agg(d.session_id) AS sessions, array_agg(d.length) AS lengths,
          array_agg(d.at) AS places INTO found
        FROM (SELECT d.n, d.session_id, d.length, d.at FROM (
          SELECT d.n, d.session_id, d.length, d.ctid AS at FROM assistant_fts d WHERE d.terms @> wanted OFFSET 0) AS d
        WHERE (p_sessions IS NULL OR d.session_id = ANY (p_sessions)) AND d.n BETWEEN lo AND hi LIMIT most_read) AS d;
      documents[i] := found.held;
      is_often[i] := found.held = most_read;
      IF is_often[i] THEN
        IF NOT is_scan THEN
          SELECT * INTO newest FROM assistant_newest(p_sessions, lo, hi, wanted, depth, places);
        END IF;
        IF newest.held < places THEN newest.place := least(depth, total); END IF;
        documents[i] := greatest(most, round(total * newest.held / newest.place));
        found.places := newest.places || CASE WHEN newest.held < places THEN found.places END;
      END IF;
    END IF;
    -- As they stand in the table, each once.
    IF cardinality(wanted) > 1 OR NOT is_known AND is_often[i] THEN
      SELECT count(*) AS held, array_agg(d.n) AS numbers, array_agg(d.session_id) AS sessions, array_agg(d.length) AS lengths,
          array_agg(d.ctid) AS places INTO found
        FROM assistant_fts d WHERE d.ctid = ANY (found.places) AND (cardinality(wanted) = 1 OR (SELECT count(*) FROM (
          SELECT FROM unnest(wanted) WITH ORDINALITY AS t (term, k) CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
            GROUP BY at - k HAVING count(*) = cardinality(wanted)) AS runs) > 0);
      IF cardinality(wanted) > 1 THEN documents[i] := found.held; END IF;
    END IF;
    rarer := rarer + documents[i];
    starts[i] := cardinality(all_n) + 1;
    all_n := all_n || found.numbers;
    all_in := all_in || found.sessions;
    all_lengths := all_lengths || found.lengths;
    all_at := all_at || found.places;
    ends[i] := cardinality(all_n);
  END LOOP;

  -- The newest of them are scored, of rarer sequences first.
  rarer := 0;
  FOR i IN SELECT d.i FROM unnest(documents) WITH ORDINALITY AS d (held, i) WHERE d.held > 0 ORDER BY d.held, d.i LOOP
    rank := rank + 1;
    places := greatest(p_limit - rarer, CASE WHEN rank <= rarest THEN fewest ELSE 0 END);
    rarer := rarer + documents[i];
    CONTINUE WHEN places = 0;
    wanted := sequences[i];
    rows_at := all_at[starts[i] : ends[i]];
    scored[i] := least(places, cardinality(rows_at));
    IF places < cardinality(rows_at) THEN
      rows_at := ARRAY(SELECT r.at FROM unnest(all_n[starts[i] : ends[i]], rows_at) AS r (n, at) ORDER BY r.n DESC LIMIT places);
    END IF;
    shown[i] := (SELECT json_build_array(array_agg(d.n), array_agg(d.session_id), array_agg(d.length), array_agg(
        CASE cardinality(wanted) WHEN 1 THEN cardinality(array_positions(d.terms, wanted[1])) ELSE (SELECT count(*) FROM (
          SELECT FROM unnest(wanted) WITH ORDINALITY AS t (term, k) CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
            GROUP BY at - k HAVING count(*) = cardinality(wanted)) AS runs) END))
      FROM assistant_fts d WHERE d.ctid = ANY (rows_at));
    chosen_at := chosen_at || rows_at;
  END LOOP;
  SELECT array_agg(d.n), array_agg(d.session_id) INTO chosen_n, chosen_in FROM assistant_fts d WHERE d.ctid = ANY (chosen_at);

  -- All that match.
  IF cardinality(chosen_n) <= p_shown AND (SELECT sum(s) FROM unnest(scored) AS s) = rarer THEN
    matches := json_build_object('total', total, 'mean', mean, 'documents', documents, 'scored', shown, 'others', others);
    RETURN NEXT;
    RETURN QUERY SELECT NULL::TEXT, h.* FROM assistant_hits(chosen_in::TEXT, chosen_n::TEXT, NULL) AS h;
    RETURN;
  END IF;

  -- Others that may stand beside a match of another sequence. Those of a sequence that many hold are looked for among the matches.
  IF (SELECT count(*) FROM unnest(scored) AS s WHERE s > 0) > 1 THEN
    FOR i IN 1 .. amount LOOP
      CONTINUE WHEN scored[i] IN (0, documents[i]);
      IF is_often[i] OR documents[i] >= many THEN
        wanted := sequences[i];
        others[i] := (SELECT json_build_array(array_agg(d.n), array_agg(d.session_id), array_agg(d.length)) FROM assistant_fts d
          WHERE d.ctid = ANY (chosen_at) AND d.terms @> wanted
            AND (cardinality(wanted) = 1 OR d.ctid = ANY (all_at[starts[i] : ends[i]])));
      ELSE
        others[i] := json_build_array(all_n[starts[i] : ends[i]], all_in[starts[i] : ends[i]], all_lengths[starts[i] : ends[i]]);
        chosen_n := chosen_n || all_n[starts[i] : ends[i]];
        chosen_in := chosen_in || all_in[starts[i] : ends[i]];
      END IF;
    END LOOP;
  END IF;

  -- The branches of those whose session has several, of which several were found.
  branches := (SELECT json_build_array(array_agg(m.n), array_agg(m.session_id), array_agg(m.branch))
    FROM (SELECT r.session_id, array_agg(r.n) AS numbers FROM unnest(chosen_n, chosen_in) AS r (n, session_id)
      GROUP BY r.session_id HAVING count(*) > 1) AS s
    CROSS JOIN LATERAL (SELECT FROM assistant_branches b WHERE b.session_id = s.session_id LIMIT 1) AS forked
    CROSS JOIN LATERAL unnest(s.numbers) AS r (n)
    CROSS JOIN LATERAL (SELECT m.n, m.session_id, m.branch FROM assistant_messages m
      WHERE m.session_id = s.session_id AND m.n = r.n OFFSET 0) AS m);
  -- By `since` a later statement tells what was written meanwhile: any transaction from this one on may have gone on then.
  matches := json_build_object('total', total, 'mean', mean, 'documents', documents, 'scored', shown, 'others', others,
    'branches', branches, 'since', pg_snapshot_xmin(pg_current_snapshot())::TEXT::BIGINT);
  RETURN NEXT;
END $$;
