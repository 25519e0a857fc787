import type { AsyncConnection, Connection, Observer, Statement, Store, SyncConnection } from "@stemma/store";
import { redactedObserver, wrapMade } from "@stemma/store";

interface ObserveOptions {
  /** Tell of every statement that the store runs too. */
  readonly statements: boolean;
}

type Method = (...values: unknown[]) => unknown;

/**
 * Makes a store that tells an observer of each call, and of the turns and compactions of sessions on it. Statements are
 * reported whichever object asked for them.
 */
export function observeStore(store: Store, observer: Observer, { statements }: ObserveOptions): Store {
  if (statements) store.observeStatements?.((connection) => observeConnection(connection, observer, store.name));
  const { redaction } = store;
  return withObserver(store, redaction === undefined ? observer : redactedObserver(observer, redaction));
}

function withObserver<S extends Store>(store: S, observer: Observer, whole?: Store): S {
  // Nothing is awaited before the store's own method is called: calls of one turn keep their order.
  const telling = <T extends object>(family: string, methods: T, sessionId?: string): T => {
    const calls = Object.entries(methods).map(([key, method]) => {
      const name = family === "" ? key : `${family}.${key}`;
      if (typeof method !== "function" || UNTOLD.has(name)) return [key, method];
      const call = (...values: unknown[]) =>
        observer(
          { type: "call", name, store: store.name, sessionId: sessionId ?? sessionOf(family, values), values },
          () => (method as Method)(...values),
        );
      return [key, call];
    });
    return { ...methods, ...Object.fromEntries(calls) } as T;
  };
  store.observeReranker?.(observer);
  const { sessions, blocks, entries, records, vectors } = store;
  const observed: S = {
    ...telling("", { ...store }),
    observer,
    session: (id: string) => telling("session", store.session(id), id),
    sessions: telling("sessions", sessions),
    blocks: telling("blocks", blocks),
    entries: telling("entries", entries),
    records: telling("records", records),
    forUser: (userId: string) => withObserver(store.forUser(userId), observer, whole ?? observed),
    ...(vectors === undefined ? {} : { vectors: telling("vectors", vectors) }),
    ...(whole === undefined ? {} : { whole }),
    ...wrapMade(store, (made) => withObserver(made, observer)),
  };
  return observed;
}

/** Calls that run on when they were called, or do nothing: pages of them run statements, which are reported. */
const UNTOLD: ReadonlySet<string> = new Set([
  "session.stream",
  "session.lines",
  "session.messages",
  "vectors.list",
  "observer",
  "observeStatements",
  "observeReranker",
  "forUser",
  "once",
  // Each call of a session begins with it; what it runs, it runs once.
  "migrate",
  "session",
  // Its calls are told: they are calls of the store that tells.
  "consolidate",
]);

function sessionOf(family: string, [first]: unknown[]): string | undefined {
  if ((family === "sessions" || family === "vectors") && typeof first === "string") return first;
  const { sessionId, id } = (typeof first === "object" && first !== null ? first : {}) as Record<string, unknown>;
  const named = sessionId ?? (family === "sessions" ? id : undefined);
  return typeof named === "string" ? named : undefined;
}

/** Makes a connection that tells an observer of each statement. */
function observeConnection<C extends Connection>(connection: C, observer: Observer, store: string): C {
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
