import type { Queue } from "@stemma/model";
import type { Connection } from "../engine/connection.js";
import type { ConsolidateOptions, Consolidation } from "./consolidation.js";
import type {
  BackupOptions,
  BackupReport,
  CheckOptions,
  CheckReport,
  Erased,
  Pruned,
  PruneRequest,
  PruneVersionsRequest,
  Residue,
  ScrubOptions,
} from "./erasing.js";
import type { SearchHit, SearchRequest } from "./found.js";
import type { BlockStore, EntryStore, MemoryScope } from "./memory.js";
import type { Observer } from "./observer.js";
import type { RecordStore } from "./records.js";
import type { Redaction } from "./redact.js";
import type { SessionStore } from "./session.js";
import type { SessionRegistry } from "./session-registry.js";
import type { VectorStore } from "./vectors.js";
import type { WriteGroup } from "./write-group.js";
import type { KeptWrite, WrittenIds } from "./writing.js";

export * from "./consolidation.js";
export * from "./erasing.js";
export * from "./facts.js";
export * from "./found.js";
export * from "./memory.js";
export * from "./observer.js";
export * from "./reading.js";
export * from "./records.js";
export * from "./redact.js";
export * from "./session.js";
export * from "./session-registry.js";
export * from "./vectors.js";
export * from "./writing.js";

/**
 * A store holds many sessions. Every method that writes is all or nothing, and waits for the other writers of the same
 * session, whatever process they run in. Calls for one session take effect in the order in which they were made,
 * awaited or not: a read sees the writes made before it, and none made after it.
 *
 * Arguments and results hold only what `structuredClone` copies, so a store can stand behind a message port. A stream
 * (`AsyncIterable`) is not copied itself, but each of its items can be. `observer`, `observeStatements`, `observeReranker`,
 * `order`, `redaction`, the `signal` of a search and the `extract` of `consolidate` are for the process only. A store that is not SQL implements this interface; a SQL one implements a connection and a dialect
 * (`sql-store.ts`) and gets all of it.
 */
export interface Store {
  /** The engine's name, as errors and test tables show it. */
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  /** One session. Asking for it writes nothing. */
  session(id: string): SessionStore;
  readonly sessions: SessionRegistry;
  readonly blocks: BlockStore;
  readonly entries: EntryStore;
  readonly records: RecordStore;
  /** The vectors of its messages, for a copy. Missing where the store keeps none. */
  readonly vectors?: VectorStore | undefined;
  /**
   * Writes to several blocks, entries, records, registry entries and sessions' messages, all of it or nothing, in this order.
   * Errors: those of the single writes.
   */
  writeTogether(writes: readonly KeptWrite[]): Promise<WrittenIds>;
  /**
   * Removes every block and entry that is kept for a user, for a key or for a session, with their versions and index rows.
   * Errors: `USER_REQUIRED` for a user's blocks where there is no user.
   */
  deleteMemory(scope: MemoryScope): Promise<Erased>;
  /** One step of removing old versions of the blocks and entries of a scope. Errors: `USER_REQUIRED`. */
  pruneVersions(scope: MemoryScope, request: PruneVersionsRequest): Promise<Pruned>;
  /**
   * One step of removing the expired entries of a scope, with their versions. What they superseded stays ended. Errors:
   * `USER_REQUIRED`.
   */
  pruneExpired(scope: MemoryScope, request: Pick<PruneRequest, "limit" | "dryRun">): Promise<Pruned>;
  /**
   * Merges entries that say the same, each label by itself. The originals stay, and end now: the new entry `supersedes` them, has
   * their earliest `validFrom`, their tags and their least trustworthy origin. All is stored in one transaction. An entry that
   * somebody changes meanwhile stays as it is; so does one that ends, expires or has a value, and what is of two subjects.
   * Removing a new entry opens its originals again; `undo` does so for all of a call. `extract` is for this process only. A store
   * of your own takes the function `consolidate`. Errors: `USER_REQUIRED`, `INVALID_ARGUMENT`; `LEARNING_FAILED`
   * where `extract` throws, or its answer is late or cannot be read: then nothing is written.
   */
  consolidate(options?: ConsolidateOptions): Promise<Consolidation>;
  /**
   * Rewrites the database without the deleted data. Writers wait meanwhile, and it takes as much room again. `pending` when
   * another connection stands in the way; a later call finishes. Missing where the store cannot do so.
   * Errors: `STORE_FAILED`, as for a full disk.
   */
  scrub?(options?: ScrubOptions): Promise<Residue>;
  /** The user that the store is confined to. */
  readonly userId?: string | undefined;
  /** The store of which it is one user's part: on every store that `forUser` gives, and the same each time. */
  readonly whole?: Store | undefined;
  /**
   * Gives a store that is confined to one user. A write to a session that belongs to nobody makes it that user's. For the registry, sessions
   * of other users and of nobody do not exist (`SESSION_NOT_FOUND`, null, or left out). Every other call on another user's
   * session fails with `SESSION_OWNED`. Closing it closes the store. It can neither `check` nor `backup`.
   * Errors: `SESSION_OWNED` when it is confined to another user already.
   */
  forUser(userId: string): Store;
  /**
   * Gives a store for one operation: each of its writes is done once under the operation's id, whoever asks again, in whatever
   * process, within a day; who asks again is given what came of it. Writes that failed are tried again. An operation that asks again
   * makes the same calls of each method in the same order. A result stays readable in the database for that day. Missing where a store
   * has no transactions. Errors: `INVALID_ARGUMENT`; of its writes `OPERATION_CONFLICT` for another `fingerprint`.
   * @example
   * await store.once?.({ id: "request 7" }).sessions.addUsage("chat", 900, 40, 0.002);
   */
  once?(operation: OnceOperation): Store;
  /** Ranked messages of all sessions that match, best first. Errors: `SEARCH_UNAVAILABLE`. */
  search(query: string, request: SearchRequest): Promise<SearchHit[]>;
  /**
   * Compares every row of every table with the rules of the data model, and the search index with the messages; see
   * `CheckReport`. With `repair` it repairs the damage, one transaction per session. Missing where
   * `capabilities.check` is false. Errors: `SESSION_NOT_FOUND`.
   */
  check?(options?: CheckOptions): Promise<CheckReport>;
  /**
   * Copies the whole database to a new file at `path`, readable for its owner only: one state, with every call that resolved
   * before, whoever writes meanwhile. The copy is checked, then put in place. To restore it, copy it back.
   * Errors: `FILE_EXISTS`, `STORE_DAMAGED` when the check finds something, `STORE_FAILED`; `STORE_UNSUPPORTED` where there is
   * no file; `SESSION_OWNED` on a store of one user.
   */
  backup(path: string, options?: BackupOptions): Promise<BackupReport>;
  /** Hears of the turns and compactions of sessions on the store. A function, so for this process only. */
  readonly observer?: Observer | undefined;
  /** Replaces the connection on which further statements run. Missing where a store has none of its own. For this process only: it takes a function. */
  observeStatements?(wrap: <C extends Connection>(connection: C) => C): void;
  /** Tells an observer of each call of the reranker, in place of one before. Missing without a reranker. For this process only: it takes a function. */
  observeReranker?(observer: Observer): void;
  /** Orders the calls of all stores on one client in this process; it cannot be copied to another. Missing where stores share no client. */
  readonly order?: Queue | undefined;
  /** Where texts are redacted before they are stored: `redact` of its constructor, or `redactStore`. For this process only: it has functions. */
  readonly redaction?: Redaction | undefined;
  /** Creates or upgrades the tables. Also run by the first call that needs them. Idempotent. */
  migrate(): Promise<void>;
  /**
   * Releases the connection, once the calls that were made before are over. Every later call fails with `STORE_CLOSED`. Idempotent.
   * @example
   * process.once("SIGTERM", () => store.close());
   */
  close(): Promise<void>;
}

/** An operation that may be asked for more than once. */
export interface OnceOperation {
  /** By chance, or a name that no other operation has. */
  readonly id: string;
  /** Tells whether the same is asked for, such as a digest of a request's body. Default: the values of each call tell it. */
  readonly fingerprint?: string | undefined;
  /** It is one write of several, which its number tells from the others: without a fingerprint, its values are not compared. Default: none. */
  readonly together?: OnceTogether | undefined;
}

/**
 * One write of several that share a transaction, and are remembered together, under their `id`. It is for this process only: it has
 * functions. A store that knows nothing of it does each write by itself.
 */
export interface OnceTogether {
  readonly id: string;
  /** Names it among those of the id. */
  readonly number: number;
  readonly group: WriteGroup;
}

/** The abilities of a store, as data: the conformance suite skips what is false and says so. */
export interface StoreCapabilities {
  /** Messages are indexed, and `history.search` works. */
  readonly search: boolean;
  /** `withEmbedder` gives a store that searches by meaning too (`EmbeddableStore`). */
  readonly embeddings: boolean;
  /** Several statements can be made one atomic write. False only for a bare `sql` object. */
  readonly transactions: boolean;
  /** Data outlives the process. */
  readonly durable: boolean;
  /** `check` is there. */
  readonly check: boolean;
}
