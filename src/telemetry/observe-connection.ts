import type { Observer } from "../storage/contract.js";
import type { AsyncConnection, Connection, SyncConnection } from "../storage/engine/connection.js";
import type { Statement } from "../storage/engine/operation.js";

/** The same connection, which tells an observer of each statement. */
export function observeConnection<C extends Connection>(connection: C, observer: Observer, store: string): C {
  const telling =
    <T>(run: (statement: Statement) => T) =>
    (statement: Statement): T => {
      const { sql, rows } = statement;
      const values = rows?.flat() ?? statement.values;
      return observer({ type: "statement", name: firstWord(sql), store, sql, values }, () => run(statement));
    };
  return (connection.kind === "sync" ? observeSync(connection, telling) : observeAsync(connection, telling)) as C;
}

type Telling = <T>(run: (statement: Statement) => T) => (statement: Statement) => T;

function observeSync(connection: SyncConnection, telling: Telling): SyncConnection {
  const { query, column, tuples, count, each, times } = connection;
  return {
    ...connection,
    query: telling(query),
    ...(column === undefined ? {} : { column: telling(column) }),
    ...(tuples === undefined ? {} : { tuples: telling(tuples) }),
    ...(count === undefined ? {} : { count: telling(count) }),
    ...(each === undefined ? {} : { each: telling(each) }),
    ...(times === undefined ? {} : { times: telling(times) }),
  };
}

function observeAsync(connection: AsyncConnection, telling: Telling): AsyncConnection {
  return {
    ...connection,
    query: telling(connection.query),
    transaction: (mode, work) => connection.transaction(mode, (query) => work(telling(query))),
  };
}

const firstWord = (sql: string): string => /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? "";
