import type { SearchQuery } from "../model/query.js";
import { Queue } from "../queue.js";
import type { EntryScope, SearchHit, SearchRequest, Store } from "./contract.js";
import type { Connection } from "./engine/connection.js";
import type { Dialect } from "./engine/dialect.js";
import type { Operation } from "./engine/operation.js";
import { createRunner, type Runner } from "./engine/runner.js";
import { NO_WAIT, type Part, type Turns, turnsOf } from "./engine/turns.js";
import { append, withStored } from "./operations/append.js";
import * as blocks from "./operations/blocks.js";
import * as compactions from "./operations/compactions.js";
import { deleteMessages } from "./operations/delete-messages.js";
import * as entries from "./operations/entries.js";
import * as fork from "./operations/fork.js";
import * as history from "./operations/history.js";
import { importTree } from "./operations/import-tree.js";
import * as messages from "./operations/messages.js";
import { type RankMessages, searchMessages } from "./operations/search/search.js";
import * as sessions from "./operations/sessions.js";
import { streamPath } from "./operations/stream.js";

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
  /** `store.history.search` with a ranking of the caller's. */
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
  const { lockSession, native } = sql;
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
  const store: Store = {
    name: sql.name,
    capabilities: { search: sql.search !== null, embeddings: false, durable, transactions, check: false },
    messages: {
      append: (id, list, parent, appendOptions = {}) =>
        native?.mayAppend(list, parent) && appendOptions.summaryIds === undefined
          ? turns.write(id, () => single(() => withStored(native.append(id, list, parent), id, list)))
          : write(id, () => append(sql, id, list, parent, appendOptions), "idempotent"),
      update: (id, message) => write(id, () => messages.updateMessage(sql, id, message)),
      upsert: (id, message, parent) => write(id, () => messages.upsertMessage(sql, id, message, parent)),
      delete: (id, ids) => write(id, () => deleteMessages(sql, id, ids)),
      clear: (id) => write(id, () => messages.clearMessages(sql, id)),
      importTree: (id, tree) => write(id, () => importTree(sql, id, tree), "idempotent"),
      setActiveLeaf: (id, messageId) => write(id, () => messages.setActiveLeaf(id, messageId)),
    },
    history: {
      message: (id, messageId) => read(id, () => history.readMessage(id, messageId)),
      leaf: (id) => read(id, () => history.readLeaf(id)),
      branches: (id, messageId) => read(id, () => history.readBranches(id, messageId)),
      path: (id, readOptions) =>
        turns.read(
          id,
          async () =>
            (native && (await single(() => native.path(id, readOptions)))) ??
            runner.read(() => history.readPath(sql, id, readOptions)),
        ),
      stream: (id, readOptions) => streamPath((operation) => read(id, operation), id, readOptions),
      recent: (id, maxBytes, readOptions) => read(id, () => history.readRecent(id, maxBytes, readOptions)),
      rowStats: (id, leafId) => read(id, () => history.rowStats(sql, id, leafId)),
      length: (id, leafId) => read(id, () => history.pathLength(sql, id, leafId)),
      tokens: (id, leafId) => write(id, () => history.visibleTokens(sql, id, leafId), "idempotent"),
      tree: (id) => read(id, () => history.readTree(id)),
      search: (query, request) => search(query, request),
    },
    compactions: {
      add: (id, overlay, guard) => write(id, () => compactions.addCompaction(sql, id, overlay, guard)),
      list: (id) => readOne(id, () => compactions.listCompactions(id)),
      originals: (id, compactionId) => read(id, () => compactions.readOriginals(sql, id, compactionId)),
    },
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
          runner.write(locked(id, () => fork.splitSession(sql, id, opening, next))),
        ),
      updateSkills: (id, change) => write(id, () => sessions.updateSkills(id, change)),
      skills: (id) => readOne(id, () => sessions.readSkills(id)),
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
        turns.readPart(entriesOf(scope), () => runner.read(() => entries.searchEntries(sql, scope, query, limit))),
    },
    order,
    migrate: ready,
    close,
  };
  return { store, runner, sql, turns, search };
}

function entriesOf({ sessionId, label }: EntryScope): Part {
  return { sessionId, kind: "entries", label };
}
