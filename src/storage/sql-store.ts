import { encodeMessage } from "../model/codec.js";
import { parseQuery, type SearchQuery } from "../model/query.js";
import { Queue } from "../queue.js";
import type { EntryScope, RecordScope, SearchHit, SearchRequest, SessionStore, Store } from "./contract.js";
import type { Connection } from "./engine/connection.js";
import type { Dialect } from "./engine/dialect.js";
import type { Operation } from "./engine/operation.js";
import { createRunner, type Runner } from "./engine/runner.js";
import { NO_WAIT, type Part, type Turns, turnsOf } from "./engine/turns.js";
import * as blocks from "./operations/blocks.js";
import * as entries from "./operations/entries.js";
import * as fork from "./operations/fork.js";
import * as records from "./operations/records.js";
import { type RankMessages, searchMessages } from "./operations/search/search.js";
import * as sessions from "./operations/sessions.js";
import { sqlSession } from "./sql-session.js";

export interface SqlStoreOptions {
  readonly durable: boolean;
  readonly transactions: boolean;
  /** Tells that the tables are there and of the present version, where one statement can. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
  /** What stores on the same client share. Default: one of the store's own. */
  readonly order?: Queue | undefined;
}

/** A store, and what it runs operations with. */
export interface OpenStore {
  readonly store: Store;
  readonly runner: Runner;
  readonly sql: Dialect;
  /** What puts its calls in order. */
  readonly turns: Turns;
  /** `store.search` with a ranking of the caller's. */
  search(query: SearchQuery, request: SearchRequest, rank?: RankMessages): Promise<SearchHit[]>;
}

/** A store on a SQL engine: the operations of this folder, run on a connection in its dialect. */
export function sqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): Store {
  return openSqlStore(connection, sql, options).store;
}

/** The same, for what runs operations of its own beside those of the store. */
export function openSqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): OpenStore {
  const { durable, transactions, isPrepared, order = new Queue() } = options;
  const runner = createRunner(connection, sql.name, { prepare: () => sql.migrate(), isPrepared });
  const { single, ready, close } = runner;
  const { lockSession } = sql;
  const turns = connection.kind === "sync" ? NO_WAIT : turnsOf(order);
  const read = <T>(id: string, operation: () => Operation<T>): Promise<T> =>
    turns.read(id, () => runner.read(operation));
  const readOne = <T>(id: string, operation: () => Operation<T>): Promise<T> => turns.read(id, () => single(operation));
  // While no one else writes to the session, in whatever process.
  const locked = <T>(id: string, operation: () => Operation<T>): (() => Operation<T>) => {
    if (lockSession === null) return operation;
    return function* () {
      yield* lockSession(id);
      return yield* operation();
    };
  };
  const write = <T>(id: string, operation: () => Operation<T>, mode?: "write" | "idempotent"): Promise<T> =>
    turns.write(id, () => runner.write(locked(id, operation), mode));
  const readPart = <T>(part: Part, operation: () => Operation<T>): Promise<T> =>
    turns.readPart(part, () => single(operation));
  const writePart = <T>(part: Part, operation: () => Operation<T>): Promise<T> =>
    turns.writePart(part, () => runner.write(operation));
  const search = (query: SearchQuery, request: SearchRequest, rank?: RankMessages): Promise<SearchHit[]> => {
    const { sessionId, sessionIds = [] } = request;
    const work = () => runner.read(() => searchMessages(sql, query, request, rank));
    return sessionId === undefined ? turns.hold({ read: sessionIds }, work) : turns.read(sessionId, work);
  };
  const searchText = (query: string, request: SearchRequest) => search(parseQuery(query), request);
  const session = (id: string): SessionStore =>
    sqlSession(sql, id, {
      read: (operation) => read(id, operation),
      write: (operation, mode) => write(id, operation, mode),
      readOne: (operation) => readOne(id, operation),
      writeOne: (operation) => turns.write(id, () => single(operation)),
      readEither: (first, second) => turns.read(id, async () => (await single(first)) ?? runner.read(second)),
      search: searchText,
    });
  const store: Store = {
    name: sql.name,
    capabilities: { search: sql.search !== null, embeddings: false, durable, transactions, check: false },
    session,
    sessions: {
      create: (session) =>
        turns.write(session.id, () => runner.write(() => sessions.createSession(session), "idempotent")),
      get: (id) => readOne(id, () => sessions.readSession(id)),
      list: ({ limit, cursor }) => single(() => sessions.listSessions(limit, cursor)),
      count: () => single(() => sessions.countSessions()),
      rename: (id, name) => write(id, () => sessions.renameSession(id, name)),
      delete: (id) => write(id, () => sessions.deleteSession(sql, id)),
      addUsage: (id, input, output, cost) => write(id, () => sessions.addUsage(id, input, output, cost)),
      fork: (id, atMessageId, next) =>
        turns.hold({ write: [id, next.id] }, () =>
          runner.write(locked(id, () => fork.forkSession(sql, id, atMessageId, next))),
        ),
      split: (id, opening, next) =>
        turns.hold({ write: [id, next.id] }, () =>
          runner.write(locked(id, () => fork.splitSession(sql, id, encodeMessage(opening), next))),
        ),
    },
    blocks: {
      get: (key) => readPart(key, () => blocks.readBlock(key)),
      set: (key, content, { expectedVersion } = {}) =>
        writePart(key, () => blocks.writeBlock(sql, key, content, expectedVersion)),
      append: (key, text, { maxTokens }) => writePart(key, () => blocks.appendBlock(sql, key, text, maxTokens)),
      delete: async (key) => {
        await writePart(key, () => blocks.deleteBlock(key));
      },
    },
    entries: {
      count: (scope) => readPart(entriesOf(scope), () => entries.countEntries(scope)),
      get: (scope, key) => readPart(entriesOf(scope), () => entries.findEntry(scope, key)),
      set: (scope, entry) => writePart(entriesOf(scope), () => entries.writeEntry(sql, scope, entry)),
      append: (scope, entry, { maxTokens }) =>
        writePart(entriesOf(scope), () => entries.appendEntry(sql, scope, entry, maxTokens)),
      delete: (scope, key) => writePart(entriesOf(scope), () => entries.deleteEntry(sql, scope, key)),
      search: (scope, query, { limit }) =>
        turns.readPart(entriesOf(scope), () =>
          runner.read(() => entries.searchEntries(sql, scope, parseQuery(query), limit)),
        ),
    },
    records: {
      get: (scope, key) => readPart(recordsOf(scope), () => records.readRecord(sql, scope, key)),
      set: (scope, key, value, recordOptions = {}) =>
        writePart(recordsOf(scope), () => records.writeRecord(sql, scope, key, value, recordOptions)),
      delete: (scope, key, { expectedVersion } = {}) =>
        writePart(recordsOf(scope), () => records.deleteRecord(sql, scope, key, expectedVersion)),
      list: (scope, listOptions = {}) => readPart(recordsOf(scope), () => records.listRecords(sql, scope, listOptions)),
    },
    search: searchText,
    order,
    migrate: ready,
    close,
  };
  return { store, runner, sql, turns, search };
}

function entriesOf({ sessionId, label }: EntryScope): Part {
  return { sessionId, kind: "entries", label };
}

function recordsOf({ sessionId, label }: RecordScope): Part {
  return { sessionId, kind: "records", label };
}
