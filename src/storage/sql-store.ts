import { parseQuery, type SearchQuery } from "../model/query.js";
import { Queue } from "../queue.js";
import { confined, confining } from "./confine.js";
import type {
  BlockKey,
  EntryScope,
  KeptWrite,
  MemoryScope,
  Residue,
  ScrubOptions,
  SearchHit,
  SearchRequest,
  Store,
  VersionOptions,
} from "./contract.js";
import type { Connection } from "./engine/connection.js";
import type { Dialect } from "./engine/dialect.js";
import { createRunner, type Runner } from "./engine/runner.js";
import { NO_WAIT, type Turns, turnsOf } from "./engine/turns.js";
import * as blocks from "./operations/blocks.js";
import * as entries from "./operations/entries.js";
import { deleteMemory } from "./operations/erase.js";
import * as lists from "./operations/memory-lists.js";
import * as records from "./operations/records.js";
import { type RankMessages, searchAtOnce, searchMessages } from "./operations/search/search.js";
import { catchUp } from "./operations/search/unindexed.js";
import * as versions from "./operations/versions.js";
import { sqlCalls, type WriteOfKept } from "./sql-calls.js";
import { sqlRegistry } from "./sql-registry.js";
import { messageWrite, sqlSession } from "./sql-session.js";

export interface SqlStoreOptions {
  readonly durable: boolean;
  readonly transactions: boolean;
  /** Tells that the tables are there and of the present version, where one statement can. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
  /** See `Store.backup`. Default: refused, for there is no file. */
  readonly backup?: Store["backup"] | undefined;
  /** What stores on the same client share. Default: one of the store's own. */
  readonly order?: Queue | undefined;
  /** Rewrites the database without what was deleted. See `Store.scrub`. */
  readonly scrub?: Scrub | undefined;
}

type Scrub = (runner: Runner, sql: Dialect, options: ScrubOptions) => Promise<Residue>;

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
  const { durable, transactions, isPrepared, scrub, order = new Queue() } = options;
  const runner = createRunner(connection, sql.name, { prepare: () => sql.migrate(), isPrepared });
  const turns = connection.kind === "sync" ? NO_WAIT : turnsOf(order);
  const search = (query: SearchQuery, request: SearchRequest, rank?: RankMessages): Promise<SearchHit[]> => {
    const { sessionId, sessionIds = [] } = request;
    const read = () => runner.read(() => searchMessages(sql, query, request, rank), catchUp(sql));
    // What is a statement or two need not wait for a transaction to begin and to end.
    const isAtOnce = rank === undefined && sql.search?.atOnce !== undefined;
    const atOnce = async () => (await runner.single(() => searchAtOnce(sql, query, request))) ?? read();
    const work = isAtOnce ? atOnce : read;
    return sessionId === undefined ? turns.hold({ read: sessionIds }, work) : turns.read(sessionId, work);
  };
  // An engine that is done with a call before the next one is made closes at once.
  const close =
    connection.kind === "sync"
      ? runner.close
      : async () => {
          await order.settled();
          await runner.close();
        };
  const storeOf = (userId?: string): Store => {
    const searchText = (query: string, request: SearchRequest) =>
      search(parseQuery(query), userId === undefined ? request : { ...request, userId });
    const calls = sqlCalls({ runner, turns, sql }, searchText, userId);
    const { eraseKept, listKept, readKept, searchKept, writeKept, writeRecord, writeAllKept } = calls;
    return {
      name: sql.name,
      userId,
      whole: userId === undefined ? undefined : store,
      forUser: confining(userId, storeOf),
      capabilities: { search: sql.search !== null, embeddings: false, durable, transactions, check: false },
      session: (id) => sqlSession(sql, id, calls.session(id)),
      sessions: sqlRegistry({ runner, turns, sql }, userId),
      blocks: {
        get: (key) => readKept(key.kind, key, blocks.readBlock),
        set: (key, content, blockOptions = {}) => {
          const note = noteOf(key, blockOptions);
          return writeKept(key.kind, key, (place) => blocks.writeBlock(sql, place, content, blockOptions, note));
        },
        append: (key, text, { maxTokens, ...version }) => {
          const note = noteOf(key, version);
          return writeKept(key.kind, key, (place) => blocks.appendBlock(sql, place, text, maxTokens, note));
        },
        delete: async (key) => {
          await writeKept(key.kind, key, (place) => blocks.deleteBlock(sql, place));
        },
        versions: (key) => searchKept(key.kind, key, blocks.readBlockVersions),
        list: (scope) => listKept(scope, (place) => lists.listBlocks(sql, place)),
        owners: async (kind, listOptions = {}) => {
          // Which keys there are is not one user's business.
          if (userId !== undefined && kind === "key") return [];
          return runner.single(() => lists.listOwners(sql, kind, { ...listOptions, only: userId }));
        },
        importVersions: (key, found) =>
          writeKept(key.kind, key, (place) => versions.importVersions(sql, blocks.versionPlace(place), found)),
      },
      entries: {
        count: (scope) => readKept("entries", scope, (place) => entries.countEntries(sql, place)),
        get: (scope, key) => readKept("entries", scope, (place) => entries.findEntry(sql, place, key)),
        set: (scope, entry, entryOptions = {}) => {
          const note = noteOf(scope, entryOptions);
          return writeKept("entries", scope, (place) => entries.writeEntry(sql, place, entry, note));
        },
        append: (scope, entry, { maxTokens, ...version }) => {
          const note = noteOf(scope, version);
          return writeKept("entries", scope, (place) => entries.appendEntry(sql, place, entry, maxTokens, note));
        },
        delete: (scope, key, entryOptions = {}) => {
          const note = noteOf(scope, entryOptions);
          return writeKept("entries", scope, (place) => entries.deleteEntry(sql, place, key, note));
        },
        importVersions: (scope, key, found) =>
          writeKept("entries", scope, (place) => versions.importVersions(sql, entries.entryPlace(place, key), found)),
        versions: (scope, key) => searchKept("entries", scope, (place) => entries.readEntryVersions(sql, place, key)),
        labels: (scope) => listKept(scope, (place) => lists.listLabels(sql, place)),
        removed: (scope) => listKept(scope, (place) => lists.listRemoved(sql, place)),
        list: (scope, listOptions = {}) =>
          searchKept("entries", scope, (place) => lists.listEntries(sql, place, listOptions)),
        search: (scope, query, searchOptions) =>
          searchKept("entries", scope, (place) => entries.searchEntries(sql, place, parseQuery(query), searchOptions)),
      },
      records: {
        get: (scope, key) => readKept("records", scope, () => records.readRecord(sql, scope, key)),
        set: (scope, key, value, recordOptions = {}) =>
          writeRecord(scope, () => records.writeRecord(sql, scope, key, value, recordOptions)),
        delete: (scope, key, { expectedVersion } = {}) =>
          writeKept("records", scope, () => records.deleteRecord(scope, key, expectedVersion)),
        list: (scope, listOptions = {}) =>
          readKept("records", scope, () => records.listRecords(sql, scope, listOptions)),
        labels: (sessionId) => listKept({ sessionId }, () => records.listRecordLabels(sql, sessionId)),
      },
      deleteMemory: (scope) => eraseKept(scope, (place) => deleteMemory(sql, place)),
      pruneVersions: async (scope, request) => {
        const { pruneVersions } = await import("./operations/prune.js");
        const prune = ({ sessionId }: MemoryScope) => pruneVersions(sessionId, request);
        return request.dryRun === true ? listKept(scope, prune) : eraseKept(scope, prune);
      },
      ...(scrub === undefined ? {} : { scrub: (scrubOptions = {}) => scrub(runner, sql, scrubOptions) }),
      writeTogether: async (writes) => writeAllKept(operationsOf(sql, writes)),
      search: searchText,
      backup: async (path, backupOptions) => {
        if (userId !== undefined) throw confined("back up the whole database");
        await runner.ready();
        const { refuseBackup } = await import("./refuse-backup.js");
        return (options.backup ?? refuseBackup(sql.name))(path, backupOptions);
      },
      order,
      observeStatements: runner.observe,
      migrate: runner.ready,
      close,
    };
  };
  const store = storeOf();
  return { store, runner, sql, turns, search };
}

/** Records that are written by one statement, each with six values. */
const RECORDS_AT_ONCE = 100;

// Records that are new, nearly all of them, are written together with those that follow.
function operationsOf(sql: Dialect, writes: readonly KeptWrite[]): WriteOfKept[] {
  const operations: WriteOfKept[] = [];
  for (let start = 0; start < writes.length; ) {
    const plain = plainRecords(writes.slice(start, start + RECORDS_AT_ONCE));
    const [first] = plain;
    operations.push(
      first === undefined
        ? operationOf(sql, writes[start] as KeptWrite)
        : { kind: "records", key: first.scope, operation: () => records.writeRecords(sql, plain) },
    );
    start += plain.length || 1;
  }
  return operations;
}

// The records of one session with which the writes begin, as far as each is written over whatever is there.
function plainRecords(writes: readonly KeptWrite[]): records.PlainRecord[] {
  const found: records.PlainRecord[] = [];
  for (const write of writes) {
    if (!("records" in write) || !("value" in write) || write.value === null || write.options !== undefined) break;
    const { records: scope, key, value } = write;
    if ((found[0]?.scope ?? scope).sessionId !== scope.sessionId) break;
    found.push({ scope, key, value });
  }
  return found;
}

// A write of several that are made together: as `set` and `delete` of the store make it.
function operationOf(sql: Dialect, write: KeptWrite): WriteOfKept {
  if ("block" in write) {
    const { block, content, options = {} } = write;
    const note = noteOf(block, options);
    const operation = (place: BlockKey) => blocks.writeBlock(sql, place, content, options, note);
    return { kind: block.kind, key: block, operation: operation as WriteOfKept["operation"] };
  }
  if ("entries" in write) {
    const { entries: scope, key, content, value, options = {} } = write;
    const note = noteOf(scope, options);
    const operation = (place: EntryScope) =>
      content === null
        ? entries.deleteEntry(sql, place, key, note)
        : entries.writeEntry(sql, place, { key, content, value }, note);
    return { kind: "entries", key: scope, operation };
  }
  if ("atVersion" in write) {
    const { records: scope, key, atVersion } = write;
    return { kind: "check", key: scope, operation: () => records.checkRecord(sql, scope, key, atVersion) };
  }
  if ("records" in write) {
    const { records: scope, key, value, options = {} } = write;
    const operation = () =>
      value === null
        ? records.deleteRecord(scope, key, options.expectedVersion)
        : records.writeRecord(sql, scope, key, value, options);
    return { kind: "records", key: scope, operation };
  }
  return { kind: "messages", key: { sessionId: write.session, label: "" }, ...messageWrite(sql, write) };
}

// "" stands for none as well, and for what is shared.
function noteOf<V extends VersionOptions>({ sessionId }: BlockKey | EntryScope, version: V): V & versions.VersionNote {
  return { ...version, writtenIn: version.origin?.sessionId ?? (sessionId === "" ? null : sessionId) };
}
