import { SPREAD } from "../sql/functions.js";

/** The functions that the server runs that has the session. `true` for those that it runs within a transaction as well. */
const DELEGATED: readonly (readonly [signature: string, inTransactions: boolean])[] = [
  ["assistant_append(text,text,timestamptz,text,text,text,text,text,text,integer,text,integer,text,text)", false],
  ["assistant_append_all(text,text,timestamptz,text)", false],
  ["assistant_path(text,text)", false],
  ["assistant_recent(text,text,bigint,bigint)", false],
  ["assistant_lock(text)", true],
];

/** Spreads the tables, as the end of a script. */
export const SPREAD_TABLES: readonly string[] = [
  SPREAD,
  "SELECT assistant_spread()",
  ...DELEGATED.map(
    ([signature, inTransactions]) =>
      `SELECT create_distributed_function('${signature}', 'p_session', colocate_with := 'assistant_sessions', force_delegation := ${inTransactions})`,
  ),
];
