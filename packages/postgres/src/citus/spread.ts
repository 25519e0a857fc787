import { UPGRADED_ROWS } from "@stemma/store";
import { REFER_TO_MESSAGES } from "../search/vectors.js";
import { TABLES } from "../tables/names.js";

/** Tables of which each server has all rows. */
const OF_ALL = ["assistant_schema", "assistant_embedder"];

/** Where it puts a session, the other tables follow. */
const REGISTRY = "assistant_sessions";

/** The tables of which each row is a session's. */
const OF_SESSIONS = [
  REGISTRY,
  ...[...TABLES, "assistant_vectors"].filter((table) => !OF_ALL.includes(table) && table !== REGISTRY),
];

const distribute = (table: string, statement: string) => `IF to_regclass('${table}') IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('${table}'))
  THEN
    ${statement}
  END IF;`;

const tables = [
  ...OF_ALL.map((table) => distribute(table, `PERFORM create_reference_table('${table}');`)),
  ...OF_SESSIONS.map((table) =>
    distribute(
      table,
      `${table === "assistant_vectors" ? `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS assistant_vectors_n_fkey;` : ""}
    PERFORM create_distributed_table('${table}', ${table === REGISTRY ? "'id', colocate_with := 'none'" : `'session_id', colocate_with := '${REGISTRY}'`});`,
    ),
  ),
];

/**
 * `assistant_spread` spreads the tables that are there over the servers of a cluster of Citus, by session, with what they
 * hold. That it is there says that they are. It may be run again: tables that came later are spread as well.
 */
const SPREAD = `CREATE OR REPLACE FUNCTION assistant_spread() RETURNS VOID LANGUAGE plpgsql AS $spread$
BEGIN
  IF EXISTS (SELECT FROM cf_agents_context_blocks WHERE session_id = '${UPGRADED_ROWS}')
    OR EXISTS (SELECT FROM cf_agents_search_entries WHERE session_id = '${UPGRADED_ROWS}')
  THEN
    RAISE EXCEPTION 'There are blocks or entries of "agents" that are no session''s. Copy them with the store to one that is spread.';
  END IF;
  PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true);
  IF to_regclass('assistant_vectors') IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('assistant_messages'))
  THEN
    ALTER TABLE assistant_vectors DROP CONSTRAINT IF EXISTS assistant_vectors_n_fkey;
  END IF;
  ${tables.join("\n  ")}
  IF to_regclass('assistant_vectors') IS NOT NULL THEN ${REFER_TO_MESSAGES} END IF;
END $spread$`;

/** The functions that the server runs that has the session. `true` for those that it runs within a transaction as well. */
const DELEGATED: readonly (readonly [signature: string, inTransactions: boolean])[] = [
  ["assistant_append(text,timestamptz,text,text,text,text,text,text,integer,text,integer,text,text)", false],
  ["assistant_append_all(text,timestamptz,text)", false],
  ["assistant_append_as(text,text,timestamptz,text,text,text,text,text,text,integer,text,integer,text,text)", false],
  ["assistant_append_all_as(text,text,timestamptz,text)", false],
  ["assistant_path(text,text)", false],
  ["assistant_recent(text,text,bigint,bigint)", false],
  ["assistant_lock(text)", true],
];

/** The call that has a function run there. */
const delegate = ([signature, inTransactions]: (typeof DELEGATED)[number]): string =>
  `create_distributed_function('${signature}', 'p_session', colocate_with := 'assistant_sessions', force_delegation := ${inTransactions})`;

/** What spreads the tables, as the end of a script. */
export const SPREAD_TABLES: readonly string[] = [
  SPREAD,
  "SELECT assistant_spread()",
  ...DELEGATED.map((each) => `SELECT ${delegate(each)}`),
];
