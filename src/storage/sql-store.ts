import type { BlockKey, EntryScope, Store } from "./contract.js";
import type { Connection } from "./engine/connection.js";
import type { Dialect } from "./engine/dialect.js";
import type { Operation } from "./engine/operation.js";
import { createQueue, type Queue } from "./engine/queue.js";
import { createRunner, type Runner } from "./engine/runner.js";
import * as blocks from "./operations/blocks.js";
import * as compactions from "./operations/compactions.js";
import { deleteMessages } from "./operations/delete-messages.js";
import * as entries from "./operations/entries.js";
import * as fork from "./operations/fork.js";
import * as history from "./operations/history.js";
import { importTree } from "./operations/import-tree.js";
import * as messages from "./operations/messages.js";
import { searchMessages } from "./operations/search/search.js";
import * as sessions from "./operations/sessions.js";
import { streamPath } from "./operations/stream.js";

export interface SqlStoreOptions {
  readonly durable: boolean;
  readonly transactions: boolean;
  /** Tells that the tables are there and of the present version, where one statement can. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
}

/** A store, and what it runs operations with. */
export interface OpenStore {
  readonly store: Store;
  readonly runner: Runner;
  readonly sql: Dialect;
}

/** A store on a SQL engine: the operations of this folder, run on a connection in its dialect. */
export function sqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): Store {
  return openSqlStore(connection, sql, options).store;
}

/** The same, for what runs operations of its own beside those of the store. */
export function openSqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): OpenStore {
  const { durable, transactions, isPrepared } = options;
  const runner = createRunner(connection, sql.name, { prepare: () => sql.migrate(), isPrepared });
  const { read, write, single, ready, close } = runner;
  const { lockSession, hot } = sql;
  // A synchronous connection is done before the next call is made; others would let a later call overtake.
  const inTurn: Queue = connection.kind === "async" ? createQueue() : (_key, work) => work();
  /** A write to one session, while no one else writes to it. */
  const writeTo = <T>(id: string, operation: () => Operation<T>, mode?: "write" | "idempotent"): Promise<T> => {
    if (lockSession === null) return write(operation, mode);
    const locked = function* () {
      yield* lockSession(id);
      return yield* operation();
    };
    return inTurn(id, () => write(locked, mode));
  };
  const writeBlock = <T>({ sessionId, kind, label }: BlockKey, operation: () => Operation<T>): Promise<T> =>
    inTurn(`${kind}\0${sessionId}\0${label}`, () => write(operation));
  const writeEntries = <T>({ sessionId, label }: EntryScope, operation: () => Operation<T>): Promise<T> =>
    inTurn(`entries\0${sessionId}\0${label}`, () => write(operation));
  const store: Store = {
    name: sql.name,
    capabilities: { search: sql.search !== null, embeddings: false, durable, transactions, check: false },
    messages: {
      append: (id, list, parent) =>
        hot?.mayAppend(list, parent)
          ? inTurn(id, () => single(() => hot.append(id, list, parent)))
          : writeTo(id, () => messages.appendMessages(sql, id, list, parent), "idempotent"),
      update: (id, message) => writeTo(id, () => messages.updateMessage(sql, id, message)),
      upsert: (id, message, parent) => writeTo(id, () => messages.upsertMessage(sql, id, message, parent)),
      delete: (id, ids) => writeTo(id, () => deleteMessages(sql, id, ids)),
      clear: (id, prompt) => writeTo(id, () => messages.clearMessages(sql, id, prompt)),
      importTree: (id, tree) => writeTo(id, () => importTree(sql, id, tree), "idempotent"),
      setActiveLeaf: (id, messageId) => writeTo(id, () => messages.setActiveLeaf(id, messageId)),
    },
    history: {
      message: (id, messageId) => read(() => history.readMessage(id, messageId)),
      leaf: (id) => read(() => history.readLeaf(id)),
      children: (id, messageId) => read(() => history.readChildren(id, messageId)),
      path: async (id, readOptions) =>
        (hot && (await single(() => hot.path(id, readOptions)))) ?? read(() => history.readPath(sql, id, readOptions)),
      stream: (id, readOptions) => streamPath(runner, id, readOptions),
      recent: (id, maxBytes, readOptions) => read(() => history.readRecent(id, maxBytes, readOptions)),
      rowStats: (id, leafId) => read(() => history.rowStats(sql, id, leafId)),
      length: (id, leafId) => read(() => history.pathLength(sql, id, leafId)),
      tokens: (id, leafId) => writeTo(id, () => history.visibleTokens(sql, id, leafId), "idempotent"),
      tree: (id) => read(() => history.readTree(id)),
      search: (query, request) => read(() => searchMessages(sql, query, request)),
    },
    compactions: {
      add: (id, overlay, guard) => writeTo(id, () => compactions.addCompaction(sql, id, overlay, guard)),
      list: (id) => single(() => compactions.listCompactions(id)),
      originals: (id, compactionId) => read(() => compactions.readOriginals(sql, id, compactionId)),
    },
    sessions: {
      create: (session) => write(() => sessions.createSession(session), "idempotent"),
      get: (id) => single(() => sessions.readSession(id)),
      list: ({ limit, cursor }) => single(() => sessions.listSessions(limit, cursor)),
      count: () => single(() => sessions.countSessions()),
      rename: (id, name) => writeTo(id, () => sessions.renameSession(id, name)),
      delete: (id) => writeTo(id, () => sessions.deleteSession(sql, id)),
      addUsage: (id, input, output, cost) => writeTo(id, () => sessions.addUsage(id, input, output, cost)),
      fork: (id, atMessageId, next) => writeTo(id, () => fork.forkSession(sql, id, atMessageId, next)),
      split: (id, opening, continuation) => writeTo(id, () => fork.splitSession(sql, id, opening, continuation)),
      updateSkills: (id, change) => writeTo(id, () => sessions.updateSkills(id, change)),
      skills: (id) => single(() => sessions.readSkills(id)),
    },
    blocks: {
      get: (key) => single(() => blocks.readBlock(key)),
      set: (key, content, { expectedVersion } = {}) =>
        writeBlock(key, () => blocks.writeBlock(sql, key, content, expectedVersion)),
      append: (key, text, { maxTokens }) => writeBlock(key, () => blocks.appendBlock(sql, key, text, maxTokens)),
      delete: (key) => writeBlock(key, () => blocks.deleteBlock(key)),
    },
    entries: {
      count: (scope) => single(() => entries.countEntries(scope)),
      get: (scope, key) => single(() => entries.findEntry(scope, key)),
      set: (scope, entry) => writeEntries(scope, () => entries.writeEntry(sql, scope, entry)),
      append: (scope, entry, { maxTokens }) =>
        writeEntries(scope, () => entries.appendEntry(sql, scope, entry, maxTokens)),
      delete: (scope, key) => writeEntries(scope, () => entries.deleteEntry(sql, scope, key)),
      search: (scope, query, { limit }) => read(() => entries.searchEntries(sql, scope, query, limit)),
    },
    migrate: ready,
    close,
  };
  return { store, runner, sql };
}
