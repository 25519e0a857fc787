-- The signs of the first 16,000 numbers of a vector, since an entry of an index has room for no more: a bit for each, set above 0.
CREATE OR REPLACE FUNCTION assistant_vector_signs(p_vector REAL[]) RETURNS BIT VARYING LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT string_agg(CASE WHEN x > 0 THEN '1' ELSE '0' END, '' ORDER BY place)::BIT VARYING
    FROM unnest(p_vector[1:16000]) WITH ORDINALITY AS v (x, place)
$$;
