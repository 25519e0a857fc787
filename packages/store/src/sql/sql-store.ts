import { check, defineOptions, once, parseQuery, Queue, type SearchQuery, withParts } from "@stemma/model";
import { consolidate } from "../consolidation/consolidate.js";
import type {
  BackupOptions,
  BackupReport,
  EntryScope,
  FoundEntry,
  MemoryScope,
  OnceOperation,
  OnceTogether,
  Residue,
  ScrubOptions,
  SearchEntriesOptions,
  SearchHit,
  SearchRequest,
  Store,
} from "../contract/store.js";
import type { Connection } from "../engine/connection.js";
import type { Dialect } from "../engine/dialect.js";
import { type CallOrder, createRunner, NO_WAIT, QueuedOrder, type Runner, type SyncOptions } from "../engine/runner.js";
import * as blocks from "../operations/memory/blocks.js";
import { findBlocks } from "../operations/memory/blocks.js";
import * as entries from "../operations/memory/entries.js";
import { listEntries } from "../operations/memory/entry-views.js";
import * as lists from "../operations/memory/memory-lists.js";
import * as records from "../operations/memory/records.js";
import * as versions from "../operations/memory/versions.js";
import { noteOf } from "../operations/memory/versions.js";
import { deleteMemory } from "../operations/registry/erase.js";
import { type LedgerPlace, type OnceWrite, onceEach, onceIn } from "../operations/registry/ledger.js";
import { pruneVersions } from "../operations/registry/prune.js";
import type { RankMessages } from "../operations/search/run-search.js";
import { assertMemoryScope, checkedEntries } from "./entry-arguments.js";
import { onceRunner } from "./once-runner.js";
import { keyTogether, onceStore, type StoreParts } from "./once-store.js";
import { assertNames } from "./session-id.js";
import { assertNoThreshold, confined, confining, refuseBackup, SqlCalls } from "./sql-calls.js";
import { sqlRegistry } from "./sql-registry.js";
import { sqlSession } from "./sql-session.js";
import { operationsOf } from "./sql-writes.js";

export interface SqlStoreOptions extends SyncOptions {
  readonly durable: boolean;
  readonly transactions: boolean;
  /** Tells that the tables are there and of the present version, where one statement can. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
  /** Answers `Store.backup`. Default: refused, for there is no file. */
  readonly backup?: Backup | undefined;
  /** The queue that stores on the same client share. Default: one of the store's own. */
  readonly order?: Queue | undefined;
  /** Answers `Store.scrub`: rewrites the database without what was deleted. */
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
  readonly callOrder: CallOrder;
  /** `store.search` with a ranking of the caller's. */
  search(query: SearchQuery, request: SearchRequest, rank?: RankMessages): Promise<SearchHit[]>;
  /** `store.entries.search`, of a user's store where one is given, with a ranking of the caller's. */
  searchEntries(
    userId: string | undefined,
    scope: EntryScope,
    query: SearchQuery,
    options: SearchEntriesOptions,
    rank?: entries.RankEntries,
  ): Promise<FoundEntry[]>;
}

/** A store on a SQL engine: the operations of this folder, run on a connection in its dialect. */
export function sqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): Store {
  return openSqlStore(connection, sql, options).store;
}

/** A store with what runs operations of another's own beside those of the store. */
export function openSqlStore(connection: Connection, sql: Dialect, options: SqlStoreOptions): OpenStore {
  const { durable, transactions, isPrepared, mayPause, lane, scrub, order = new Queue() } = options;
  const { serverTime } = sql;
  const runner = createRunner(connection, sql.name, { prepare: () => sql.migrate(), isPrepared, mayPause, lane });
  const callOrder = connection.kind === "sync" ? NO_WAIT : new QueuedOrder(order, sql.name);
  // An engine that is done with a call before the next one is made closes at once.
  const close =
    connection.kind === "sync"
      ? () => runner.close()
      : once(async () => {
          await callOrder.end();
          await runner.close();
        });
  const callsOf = (userId: string | undefined, running: Runner = runner, order = callOrder) =>
    new SqlCalls({ runner: running, callOrder: order, sql }, userId);
  const searchEntries: OpenStore["searchEntries"] = async (userId, scope, query, searchOptions, rank) => {
    assertNoThreshold(searchOptions.threshold);
    return callsOf(userId).searchItems("entries", scope, (owned) =>
      entries.searchEntries(sql, owned, query, searchOptions, rank),
    );
  };
  const doingOnce = (place: LedgerPlace) =>
    onceRunner(runner, (operation, count) =>
      runner.write(() => onceIn(sql, { ...place, name: `${place.name}/${count}` }, operation), "idempotent"),
    );
  // The group is in order; none of its calls waits for another.
  const sessionTogether = (
    userId: string | undefined,
    id: string,
    fingerprint: string,
    { id: operationId, number, group }: OnceTogether,
  ) => {
    const key = keyTogether(operationId, id, userId);
    const doAll = (writes: readonly OnceWrite[]) =>
      callOrder.write(id, () => runner.writeEach(writes, (some) => onceEach(sql, key, fingerprint, some)));
    const together = onceRunner(runner, (operation, count) =>
      group.add(number, key, { name: count === 0 ? `${number}` : `${number}/${count}`, operation }, doAll),
    );
    return sqlSession(sql, id, callsOf(userId, together, NO_WAIT));
  };
  const storeOf = (userId?: string, running: Runner = runner): Store => {
    const calls = callsOf(userId, running);
    const whole: Omit<Store, keyof StoreParts> = {
      name: sql.name,
      userId,
      whole: userId === undefined ? undefined : store,
      forUser: confining(userId, (user) => storeOf(user, running)),
      ...(transactions && {
        once: (operation: OnceOperation) =>
          onceStore(made, whole, operation, {
            viewOf: (place) => storeOf(userId, doingOnce(place)),
            sessionOf: (place, id) => sqlSession(sql, id, callsOf(userId, doingOnce(place))),
            togetherWith: (together, id, fingerprint) => sessionTogether(userId, id, fingerprint, together),
          }),
      }),
      capabilities: { search: sql.search !== null, embeddings: false, durable, transactions, check: false },
      session: (id) => sqlSession(sql, id, calls),
      deleteMemory: async (scope) => {
        assertMemoryScope(scope, "deleteMemory()");
        return calls.eraseItems(scope, (owned) => deleteMemory(sql, owned));
      },
      pruneVersions: async (scope, request) => {
        assertMemoryScope(scope, "pruneVersions()");
        const prune = ({ sessionId }: MemoryScope) => pruneVersions(sessionId, request);
        return request.dryRun === true ? calls.listItems(scope, prune) : calls.eraseItems(scope, prune);
      },
      pruneExpired: async (scope, request) => {
        assertMemoryScope(scope, "pruneExpired()");
        const prune = ({ sessionId }: MemoryScope) => entries.pruneExpired(sql, sessionId, request);
        return request.dryRun === true ? calls.listItems(scope, prune) : calls.eraseItems(scope, prune);
      },
      ...(scrub === undefined
        ? {}
        : {
            scrub: async (scrubOptions = {}) => {
              SCRUB.assert(scrubOptions, "scrub()");
              return scrub(runner, sql, scrubOptions);
            },
          }),
      consolidate,
      writeTogether: async (writes) => calls.writeTogether(operationsOf(sql, writes, userId)),
      search: (query, request) => calls.search(parseQuery(query), request),
      backup: async (path, backupOptions = {}) => {
        BACKUP.assert(backupOptions, "backup()");
        if (userId !== undefined) throw confined("back up the whole database");
        await runner.ready();
        if (options.backup === undefined) return refuseBackup(sql.name)(path, backupOptions);
        return options.backup(runner, path, backupOptions);
      },
      order,
      observeStatements: (wrap) => runner.observe(wrap),
      migrate: () => callOrder.hold({}, () => runner.ready()),
      close,
    };
    const base = { ...whole };
    const made: Store = withParts<typeof whole, StoreParts>(base, {
      sessions: () => sqlRegistry({ runner: running, callOrder, sql }, userId),
      blocks: () => ({
        get: (key) => calls.readItem(key.kind, key, blocks.readBlock),
        getMany: async (keys) => {
          const [first] = keys;
          return first === undefined ? [] : calls.listItems(first, (owned) => findBlocks(sql, owned.sessionId, keys));
        },
        set: async (key, content, blockOptions = {}) => {
          assertNames(key);
          const note = noteOf(key, blockOptions);
          return calls.writeItem(key.kind, key, (owned) => blocks.writeBlock(sql, owned, content, blockOptions, note));
        },
        append: async (key, text, { maxTokens, ...version }) => {
          assertNames(key);
          const note = noteOf(key, version);
          return calls.writeItem(key.kind, key, (owned) => blocks.appendBlock(sql, owned, text, maxTokens, note));
        },
        delete: async (key) => {
          await calls.writeItem(key.kind, key, (owned) => blocks.deleteBlock(sql, owned));
        },
        versions: (key) => calls.searchItems(key.kind, key, blocks.readBlockVersions),
        list: (scope) => calls.listItems(scope, (owned) => lists.listBlocks(sql, owned)),
        owners: async (kind, listOptions = {}) => {
          // Which keys there are is not one user's business.
          if (userId !== undefined && kind === "key") return [];
          return callOrder.hold({}, () =>
            runner.single(() => lists.listOwners(sql, kind, { ...listOptions, only: userId })),
          );
        },
        importVersions: async (key, found) => {
          assertNames(key);
          return calls.writeItem(key.kind, key, (owned) =>
            versions.importVersions(sql, blocks.blockVersionKey(owned), found),
          );
        },
      }),
      entries: () =>
        checkedEntries({
          count: (scope, view = {}) =>
            calls.searchItems("entries", scope, (owned) => entries.countEntries(sql, owned, view)),
          get: (scope, key) => calls.readItem("entries", scope, (owned) => entries.findEntry(sql, owned, key)),
          set: async (scope, entry, entryOptions = {}) => {
            assertNames(scope, entry.key);
            const note = noteOf(scope, entryOptions);
            return calls.writeItem("entries", scope, (owned) => entries.writeEntry(sql, owned, entry, note));
          },
          append: async (scope, entry, { maxTokens, ...version }) => {
            assertNames(scope, entry.key);
            const note = noteOf(scope, version);
            return calls.writeItem("entries", scope, (owned) =>
              entries.appendEntry(sql, owned, entry, maxTokens, note),
            );
          },
          delete: (scope, key, entryOptions = {}) => {
            const note = noteOf(scope, entryOptions);
            return calls.writeItem("entries", scope, (owned) => entries.deleteEntry(sql, owned, key, note));
          },
          importVersions: async (scope, key, found) => {
            assertNames(scope, key);
            return calls.writeItem("entries", scope, (owned) =>
              versions.importVersions(sql, versions.entryVersionKey(owned, key), found),
            );
          },
          versions: (scope, key) =>
            calls.searchItems("entries", scope, (owned) => entries.readEntryVersions(sql, owned, key)),
          labels: (scope) => calls.listItems(scope, (owned) => lists.listLabels(sql, owned)),
          removed: (scope) => calls.listItems(scope, (owned) => lists.listRemoved(sql, owned)),
          list: (scope, listOptions = {}) =>
            calls.searchItems("entries", scope, (owned) => listEntries(sql, owned, listOptions)),
          search: async (scope, query, searchOptions) => searchEntries(userId, scope, parseQuery(query), searchOptions),
        }),
      records: () => ({
        get: (scope, key) => calls.readItem("records", scope, () => records.readRecord(sql, scope, key)),
        set: async (scope, key, value, recordOptions = {}) => {
          assertNames(scope, key);
          return calls.writeRecord(scope, () => records.writeRecord(sql, scope, key, value, recordOptions));
        },
        delete: (scope, key, { expectedVersion } = {}) =>
          calls.writeItem("records", scope, () => records.deleteRecord(sql, scope, key, expectedVersion)),
        list: (scope, listOptions = {}) =>
          calls.readItem("records", scope, () => records.listRecords(sql, scope, listOptions)),
        expire: async (scope, prefix, after) => {
          await calls.writeItem("records", scope, () => records.expireRecords(sql, scope, prefix, after));
        },
        labels: (sessionId) => calls.listItems({ sessionId }, () => records.listRecordLabels(sql, sessionId)),
        ...(serverTime !== null && {
          now: () => callOrder.hold({}, () => runner.single(() => records.readServerTime(serverTime))),
        }),
      }),
    });
    return made;
  };
  const store = storeOf();
  const search: OpenStore["search"] = (query, request, rank) => callsOf(undefined).search(query, request, rank);
  return { store, runner, sql, callOrder, search, searchEntries };
}
