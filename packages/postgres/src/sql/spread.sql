-- Spreads the tables that are there over the servers of a cluster of Citus, by session, with what they hold. That this function is there
-- says that they are. It may be run again: tables that came later are spread as well.
CREATE OR REPLACE FUNCTION assistant_spread() RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  name TEXT;
BEGIN
  IF EXISTS (SELECT FROM cf_agents_context_blocks WHERE session_id = 'agents_before_upgrade')
    OR EXISTS (SELECT FROM cf_agents_search_entries WHERE session_id = 'agents_before_upgrade')
  THEN
    RAISE EXCEPTION 'There are blocks or entries of "agents" that are no session''s. Copy them with the store to one that is spread.';
  END IF;
  PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true);
  -- A foreign key refers to tables that are spread alike.
  FOREACH name IN ARRAY ARRAY['assistant_vectors', 'assistant_entry_vectors'] LOOP
    IF to_regclass(name) IS NOT NULL AND NOT EXISTS (
      SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name))
    THEN
      EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', name::regclass, name || '_n_fkey');
    END IF;
  END LOOP;
  -- Each server has all rows of these.
  FOREACH name IN ARRAY ARRAY['assistant_schema', 'assistant_embedder'] LOOP
    IF to_regclass(name) IS NOT NULL AND NOT EXISTS (
      SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name))
    THEN
      PERFORM create_reference_table(name::regclass);
    END IF;
  END LOOP;
  -- Where the registry puts a session, the other tables follow.
  FOREACH name IN ARRAY ARRAY['assistant_sessions', 'assistant_messages', 'assistant_branches', 'assistant_compactions',
    'assistant_media', 'assistant_media_refs', 'assistant_fts', 'assistant_records', 'assistant_versions', 'assistant_usage',
    'cf_agents_context_blocks', 'cf_agents_search_entries', 'cf_agents_search_fts', 'assistant_vectors',
    'assistant_entry_vectors']
  LOOP
    IF to_regclass(name) IS NULL OR EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name)) THEN
      CONTINUE;
    ELSIF to_regclass(name) = 'assistant_sessions'::regclass THEN
      PERFORM create_distributed_table(name::regclass, 'id', colocate_with := 'none');
    ELSE
      PERFORM create_distributed_table(name::regclass, 'session_id', colocate_with := 'assistant_sessions');
    END IF;
  END LOOP;
  IF to_regclass('assistant_vectors') IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_constraint WHERE conrelid = 'assistant_vectors'::regclass AND contype = 'f')
  THEN
    ALTER TABLE assistant_vectors ADD CONSTRAINT assistant_vectors_n_fkey
      FOREIGN KEY (session_id, n) REFERENCES assistant_messages (session_id, n) ON DELETE CASCADE;
  END IF;
  IF to_regclass('assistant_entry_vectors') IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_constraint WHERE conrelid = 'assistant_entry_vectors'::regclass AND contype = 'f')
  THEN
    ALTER TABLE assistant_entry_vectors ADD CONSTRAINT assistant_entry_vectors_n_fkey
      FOREIGN KEY (n, session_id) REFERENCES cf_agents_search_entries (n, session_id) ON DELETE CASCADE;
  END IF;
END $$;
