-- Gives a new session's number: the minute in which it is registered, counted from 2020. Sessions of one minute share it, so no server
-- asks another one. It grows, so a search over all sessions begins with the newest.
CREATE OR REPLACE FUNCTION assistant_number() RETURNS BIGINT LANGUAGE sql AS $$
  SELECT least(greatest(floor((extract(epoch FROM clock_timestamp()) - 1577836800) / 60)::BIGINT, 1), 33554431)
$$;
