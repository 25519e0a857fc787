import type { Store } from "../contract.js";
import * as blocks from "./blocks.js";
import * as compactions from "./compactions.js";
import type { Connection } from "./connection.js";
import { deleteMessages } from "./delete-messages.js";
import type { Dialect } from "./dialect.js";
import * as entries from "./entries.js";
import * as fork from "./fork.js";
import * as history from "./history.js";
import * as messages from "./messages.js";
import { createRunner } from "./run.js";
import { searchMessages } from "./search.js";
import * as sessions from "./sessions.js";
import { streamPath } from "./stream.js";

export interface SqlStoreOptions {
  readonly durable: boolean;
  readonly transactions: boolean;
}

/** A store on a SQL engine: the operations of this folder, run on a connection in its dialect. */
export function sqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): Store {
  const { read, write, ready, close } = createRunner(connection, sql.name, () => sql.migrate());
  return {
    name: sql.name,
    capabilities: { search: sql.search !== null, ...options },
    messages: {
      append: (id, list, parent) => write(() => messages.appendMessages(sql, id, list, parent)),
      update: (id, message) => write(() => messages.updateMessage(sql, id, message)),
      upsert: (id, message, parent) => write(() => messages.upsertMessage(sql, id, message, parent)),
      delete: (id, ids) => write(() => deleteMessages(sql, id, ids)),
      clear: (id) => write(() => messages.clearMessages(sql, id)),
      importTree: (id, tree) => write(() => messages.importTree(sql, id, tree)),
      setActiveLeaf: (id, messageId) => write(() => messages.setActiveLeaf(id, messageId)),
    },
    history: {
      message: (id, messageId) => read(() => history.readMessage(id, messageId)),
      leaf: (id) => read(() => history.readLeaf(id)),
      children: (id, messageId) => read(() => history.readChildren(id, messageId)),
      path: (id, readOptions) => read(() => history.readPath(sql, id, readOptions)),
      stream: (id, readOptions) => streamPath({ read, write, ready, close }, id, readOptions),
      recent: (id, maxBytes, readOptions) => read(() => history.readRecent(id, maxBytes, readOptions)),
      length: (id, leafId) => read(() => history.pathLength(sql, id, leafId)),
      tokens: (id, leafId) => write(() => history.visibleTokens(sql, id, leafId)),
      tree: (id) => read(() => history.readTree(id)),
      search: (query, { sessionId, limit }) => read(() => searchMessages(sql, query, sessionId, limit)),
    },
    compactions: {
      add: (id, overlay, guard) => write(() => compactions.addCompaction(id, overlay, guard)),
      list: (id) => read(() => compactions.listCompactions(id)),
      originals: (id, compactionId) => read(() => compactions.readOriginals(sql, id, compactionId)),
    },
    sessions: {
      create: (session) => write(() => sessions.createSession(session)),
      get: (id) => read(() => sessions.readSession(id)),
      list: ({ limit, cursor }) => read(() => sessions.listSessions(limit, cursor)),
      count: () => read(() => sessions.countSessions()),
      rename: (id, name) => write(() => sessions.renameSession(id, name)),
      delete: (id) => write(() => sessions.deleteSession(sql, id)),
      addUsage: (id, input, output, cost) => write(() => sessions.addUsage(id, input, output, cost)),
      fork: (id, atMessageId, next) => write(() => fork.forkSession(sql, id, atMessageId, next)),
      split: (id, opening, continuation) => write(() => fork.splitSession(sql, id, opening, continuation)),
      updateSkills: (id, change) => write(() => sessions.updateSkills(id, change)),
      skills: (id) => read(() => sessions.readSkills(id)),
    },
    blocks: {
      get: (key) => read(() => blocks.readBlock(key)),
      set: (key, content, { expectedVersion } = {}) => write(() => blocks.writeBlock(key, content, expectedVersion)),
      append: (key, text, { maxTokens }) => write(() => blocks.appendBlock(key, text, maxTokens)),
      delete: (key) => write(() => blocks.deleteBlock(key)),
    },
    entries: {
      count: (scope) => read(() => entries.countEntries(scope)),
      get: (scope, key) => read(() => entries.findEntry(scope, key)),
      set: (scope, entry) => write(() => entries.writeEntry(sql, scope, entry)),
      append: (scope, entry, { maxTokens }) => write(() => entries.appendEntry(sql, scope, entry, maxTokens)),
      delete: (scope, key) => write(() => entries.deleteEntry(sql, scope, key)),
      search: (scope, query, { limit }) => read(() => entries.searchEntries(sql, scope, query, limit)),
    },
    migrate: ready,
    close,
  };
}
