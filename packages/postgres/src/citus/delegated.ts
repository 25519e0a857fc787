/** The functions that the server runs that has the session. `true` for those that it runs within a transaction as well. */
export const DELEGATED: readonly (readonly [signature: string, inTransactions: boolean])[] = [
  ["assistant_append(text,timestamptz,text,text,text,text,text,text,integer,text,integer,text,text)", false],
  ["assistant_append_all(text,timestamptz,text)", false],
  ["assistant_path(text,text)", false],
  ["assistant_lock(text)", true],
];

/** Those that version 13 adds. */
export const DELEGATED_AS: typeof DELEGATED = [
  ["assistant_append_as(text,text,timestamptz,text,text,text,text,text,text,integer,text,integer,text,text)", false],
  ["assistant_append_all_as(text,text,timestamptz,text)", false],
];

/** The one that version 14 adds. */
export const DELEGATED_RECENT: typeof DELEGATED = [["assistant_recent(text,text,bigint,bigint)", false]];

/** The call that has a function run there. */
export const delegate = ([signature, inTransactions]: (typeof DELEGATED)[number]): string =>
  `create_distributed_function('${signature}', 'p_session', colocate_with := 'assistant_sessions', force_delegation := ${inTransactions})`;

/** Has new functions run there where rows are spread over servers already: for tables that are spread later it is done then. */
export const delegateNew = (functions: typeof DELEGATED): string => `DO $$ BEGIN
  IF to_regprocedure('assistant_spread()') IS NOT NULL THEN
    ${functions.map((each) => `PERFORM ${delegate(each)};`).join("\n    ")}
  END IF;
END $$`;
