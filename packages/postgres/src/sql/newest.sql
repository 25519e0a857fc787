-- Looks for terms in the newest rows of all sessions, or of some, one after the other: in `p_depth` of them at most, until `p_places` hold
-- them. Gives how many do, how many were looked at up to the last of these, and where they are.
--
-- A single session is read in the order of its index. Rows of several are read first and put in order then: the index that begins with
-- the numbers, which seems to serve for that, gives the rows of all sessions.
CREATE OR REPLACE FUNCTION assistant_newest(p_sessions TEXT[], p_lo BIGINT, p_hi BIGINT, p_wanted TEXT[], p_depth BIGINT, p_places BIGINT,
  OUT held BIGINT, OUT place BIGINT, OUT numbers BIGINT[], OUT sessions TEXT[], OUT lengths INTEGER[], OUT places TID[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT count(*), max(f.place), array_agg(f.n), array_agg(f.session_id), array_agg(f.length), array_agg(f.at)
    INTO held, place, numbers, sessions, lengths, places FROM (
      SELECT r.* FROM (
        SELECT d.*, row_number() OVER () AS place FROM (
          (SELECT d.n, d.session_id, d.length, d.ctid AS at, d.terms @> p_wanted AS holds FROM assistant_fts d
            WHERE p_sessions IS NULL AND d.n BETWEEN p_lo AND p_hi ORDER BY d.n DESC LIMIT p_depth)
          UNION ALL
          (SELECT d.n, d.session_id, d.length, d.ctid, d.terms @> p_wanted FROM assistant_fts d
            WHERE cardinality(p_sessions) = 1 AND d.session_id = p_sessions[1] ORDER BY d.n DESC LIMIT p_depth)
          UNION ALL
          (SELECT d.n, d.session_id, d.length, d.at, d.holds FROM (
            SELECT d.n, d.session_id, d.length, d.ctid AS at, d.terms @> p_wanted AS holds FROM assistant_fts d
              WHERE cardinality(p_sessions) > 1 AND d.session_id = ANY (p_sessions) OFFSET 0) AS d
            ORDER BY d.n DESC LIMIT p_depth)) AS d) AS r
      WHERE r.holds LIMIT p_places) AS f;
END $$;
