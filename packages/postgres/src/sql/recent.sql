-- Gives what `assistant_path` does, but the newest message or summary first, and no more than are asked for: `p_least` of them, then on
-- while they have at most `p_bytes` bytes, and one more. A row with the key `m` says that there are others.
CREATE OR REPLACE FUNCTION assistant_recent(p_session TEXT, p_leaf TEXT, p_bytes BIGINT, p_least BIGINT)
RETURNS TABLE (key TEXT, content TEXT) LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
  piece RECORD;
  message RECORD;
  before BIGINT;
  wanted BIGINT;
  found_rows BIGINT;
  taken BIGINT := 0;
  bytes BIGINT := 0;
BEGIN
  FOR piece IN SELECT * FROM assistant_view(p_session, p_leaf, TRUE) LOOP
    IF piece.branch IS NULL THEN
      IF taken > p_least AND bytes > p_bytes THEN
        RETURN QUERY SELECT 'm', NULL;
        RETURN;
      END IF;
      key := piece.key;
      content := piece.content;
      RETURN NEXT;
      IF key LIKE 's%' THEN
        taken := taken + 1;
        bytes := bytes + octet_length(content);
      END IF;
      CONTINUE;
    END IF;
    before := piece.hi + 1;
    LOOP
      wanted := least(greatest(8, p_least + 1 - taken), 256);
      found_rows := 0;
      FOR message IN SELECT m.n, m.content FROM assistant_messages m
        WHERE m.session_id = p_session AND m.n >= piece.lo AND m.n < before AND m.branch = piece.branch
        ORDER BY m.n DESC LIMIT wanted
      LOOP
        IF taken > p_least AND bytes > p_bytes THEN
          RETURN QUERY SELECT 'm', NULL;
          RETURN;
        END IF;
        key := piece.key || message.n;
        content := message.content;
        RETURN NEXT;
        before := message.n;
        found_rows := found_rows + 1;
        taken := taken + 1;
        bytes := bytes + octet_length(content);
        -- Media stand outside.
        IF strpos(content, '"$stemma":') > 0 THEN
          bytes := bytes + (SELECT coalesce(sum(octet_length(d.data)), 0) FROM assistant_media_refs r
            JOIN assistant_media d ON d.session_id = p_session AND d.no = r.no AND d.hash = r.hash
            WHERE r.session_id = p_session AND r.no = message.n / 268435456 AND r.n = message.n);
        END IF;
      END LOOP;
      EXIT WHEN found_rows < wanted;
    END LOOP;
  END LOOP;
END $$;
