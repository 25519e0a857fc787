import { check, defineOptions, once, parseQuery, Queue, type SearchQuery } from "@stemma/model";
import { assertKeptNames } from "../assert-names.js";
import type {
  BackupOptions,
  BackupReport,
  MemoryScope,
  Residue,
  ScrubOptions,
  SearchHit,
  SearchRequest,
  Store,
} from "../contract/store.js";
import { NO_WAIT, type Turns, turnsOf } from "../engine/call-order.js";
import type { Connection } from "../engine/connection.js";
import type { Dialect } from "../engine/dialect.js";
import { closed, createRunner, type Runner, type SyncOptions } from "../engine/runner.js";
import * as blocks from "../operations/memory/blocks.js";
import { findBlocks } from "../operations/memory/blocks.js";
import * as entries from "../operations/memory/entries.js";
import * as lists from "../operations/memory/memory-lists.js";
import * as records from "../operations/memory/records.js";
import * as versions from "../operations/memory/versions.js";
import { noteOf } from "../operations/memory/versions.js";
import { deleteMemory } from "../operations/registry/erase.js";
import { pruneVersions } from "../operations/registry/prune.js";
import { catchUp } from "../operations/search/index-rows.js";
import { type RankMessages, searchAtOnce, searchMessages } from "../operations/search/run-search.js";
import { operationsOf } from "../sql-kept-writes.js";
import { confined, confining, refuseBackup, sqlCalls } from "./sql-calls.js";
import { sqlRegistry } from "./sql-registry.js";
import { sqlSession } from "./sql-session.js";

export interface SqlStoreOptions extends SyncOptions {
  readonly durable: boolean;
  readonly transactions: boolean;
  /** Tells that the tables are there and of the present version, where one statement can. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
  /** See `Store.backup`. Default: refused, for there is no file. */
  readonly backup?: Backup | undefined;
  /** What stores on the same client share. Default: one of the store's own. */
  readonly order?: Queue | undefined;
  /** Rewrites the database without what was deleted. See `Store.scrub`. */
  readonly scrub?: Scrub | undefined;
}

type Backup = (runner: Runner, path: string, options: BackupOptions) => Promise<BackupReport>;

type Scrub = (runner: Runner, sql: Dialect, options: ScrubOptions) => Promise<Residue>;

const SCRUB = defineOptions<ScrubOptions>({ maxBytes: check.amount("bytes") });
const BACKUP = defineOptions<BackupOptions>({ check: check.flag });

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
  const { durable, transactions, isPrepared, breaks, lane, scrub, order = new Queue() } = options;
  const { serverTime } = sql;
  const runner = createRunner(connection, sql.name, { prepare: () => sql.migrate(), isPrepared, breaks, lane });
  const turns = connection.kind === "sync" ? NO_WAIT : turnsOf(order, () => closed(sql.name));
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
      : once(async () => {
          await turns.end();
          await runner.close();
        });
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
        getMany: async (keys) => {
          const [first] = keys;
          return first === undefined ? [] : listKept(first, (owned) => findBlocks(sql, owned.sessionId, keys));
        },
        set: async (key, content, blockOptions = {}) => {
          assertKeptNames(key);
          const note = noteOf(key, blockOptions);
          return writeKept(key.kind, key, (owned) => blocks.writeBlock(sql, owned, content, blockOptions, note));
        },
        append: async (key, text, { maxTokens, ...version }) => {
          assertKeptNames(key);
          const note = noteOf(key, version);
          return writeKept(key.kind, key, (owned) => blocks.appendBlock(sql, owned, text, maxTokens, note));
        },
        delete: async (key) => {
          await writeKept(key.kind, key, (owned) => blocks.deleteBlock(sql, owned));
        },
        versions: (key) => searchKept(key.kind, key, blocks.readBlockVersions),
        list: (scope) => listKept(scope, (owned) => lists.listBlocks(sql, owned)),
        owners: async (kind, listOptions = {}) => {
          // Which keys there are is not one user's business.
          if (userId !== undefined && kind === "key") return [];
          return turns.hold({}, () =>
            runner.single(() => lists.listOwners(sql, kind, { ...listOptions, only: userId })),
          );
        },
        importVersions: async (key, found) => {
          assertKeptNames(key);
          return writeKept(key.kind, key, (owned) =>
            versions.importVersions(sql, blocks.blockVersionKey(owned), found),
          );
        },
      },
      entries: {
        count: (scope) => readKept("entries", scope, (owned) => entries.countEntries(sql, owned)),
        get: (scope, key) => readKept("entries", scope, (owned) => entries.findEntry(sql, owned, key)),
        set: async (scope, entry, entryOptions = {}) => {
          assertKeptNames(scope, entry.key);
          const note = noteOf(scope, entryOptions);
          return writeKept("entries", scope, (owned) => entries.writeEntry(sql, owned, entry, note));
        },
        append: async (scope, entry, { maxTokens, ...version }) => {
          assertKeptNames(scope, entry.key);
          const note = noteOf(scope, version);
          return writeKept("entries", scope, (owned) => entries.appendEntry(sql, owned, entry, maxTokens, note));
        },
        delete: (scope, key, entryOptions = {}) => {
          const note = noteOf(scope, entryOptions);
          return writeKept("entries", scope, (owned) => entries.deleteEntry(sql, owned, key, note));
        },
        importVersions: async (scope, key, found) => {
          assertKeptNames(scope, key);
          return writeKept("entries", scope, (owned) =>
            versions.importVersions(sql, entries.entryVersionKey(owned, key), found),
          );
        },
        versions: (scope, key) => searchKept("entries", scope, (owned) => entries.readEntryVersions(sql, owned, key)),
        labels: (scope) => listKept(scope, (owned) => lists.listLabels(sql, owned)),
        removed: (scope) => listKept(scope, (owned) => lists.listRemoved(sql, owned)),
        list: (scope, listOptions = {}) =>
          searchKept("entries", scope, (owned) => lists.listEntries(sql, owned, listOptions)),
        search: (scope, query, searchOptions) =>
          searchKept("entries", scope, (owned) => entries.searchEntries(sql, owned, parseQuery(query), searchOptions)),
      },
      records: {
        get: (scope, key) => readKept("records", scope, () => records.readRecord(sql, scope, key)),
        set: async (scope, key, value, recordOptions = {}) => {
          assertKeptNames(scope, key);
          return writeRecord(scope, () => records.writeRecord(sql, scope, key, value, recordOptions));
        },
        delete: (scope, key, { expectedVersion } = {}) =>
          writeKept("records", scope, () => records.deleteRecord(sql, scope, key, expectedVersion)),
        list: (scope, listOptions = {}) =>
          readKept("records", scope, () => records.listRecords(sql, scope, listOptions)),
        expire: async (scope, prefix, after) => {
          await writeKept("records", scope, () => records.expireRecords(sql, scope, prefix, after));
        },
        labels: (sessionId) => listKept({ sessionId }, () => records.listRecordLabels(sql, sessionId)),
        ...(serverTime !== null && {
          now: () => turns.hold({}, () => runner.single(() => records.readServerTime(serverTime))),
        }),
      },
      deleteMemory: (scope) => eraseKept(scope, (owned) => deleteMemory(sql, owned)),
      pruneVersions: async (scope, request) => {
        const prune = ({ sessionId }: MemoryScope) => pruneVersions(sessionId, request);
        return request.dryRun === true ? listKept(scope, prune) : eraseKept(scope, prune);
      },
      ...(scrub === undefined
        ? {}
        : {
            scrub: async (scrubOptions = {}) => {
              SCRUB.assert(scrubOptions, "scrub()");
              return scrub(runner, sql, scrubOptions);
            },
          }),
      writeTogether: async (writes) => writeAllKept(operationsOf(sql, writes, userId)),
      search: searchText,
      backup: async (path, backupOptions = {}) => {
        BACKUP.assert(backupOptions, "backup()");
        if (userId !== undefined) throw confined("back up the whole database");
        await runner.ready();
        if (options.backup === undefined) return refuseBackup(sql.name)(path, backupOptions);
        return options.backup(runner, path, backupOptions);
      },
      order,
      observeStatements: runner.observe,
      migrate: () => turns.hold({}, runner.ready),
      close,
    };
  };
  const store = storeOf();
  return { store, runner, sql, turns, search };
}
