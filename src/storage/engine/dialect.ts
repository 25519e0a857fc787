import type { EncodedMessage } from "../../model/codec.js";
import type { SessionMessage } from "../../model/message.js";
import type { ImportedMessage, ImportedTree, MetadataValue, ParentRef, RecentHistory } from "../contract.js";
import type { Condition, Operation, SqlValue } from "./operation.js";
import type { SearchDialect } from "./search-dialect.js";
import type { SessionRows } from "./session-rows.js";

/** What one SQL engine says differently. Everything else is written once, in the operations beside this file. */
export interface Dialect {
  readonly name: string;
  /** The largest text that one column takes, in bytes of UTF-8; longer ones are kept in parts. */
  readonly maxTextBytes: number;
  /** Full-text search, or null where it is switched off or missing. */
  readonly search: SearchDialect | null;
  /**
   * A table with columns `branch`, `lo`, `hi`, read from one parameter that holds a JSON array of such arrays; where rows name
   * their session, a fourth one, `owner`, may do so.
   */
  readonly segmentTable: string;
  /** A table with a column `text`, read from one parameter that holds a JSON array of texts. */
  readonly textTable: string;
  /** Ends a query of messages `m` for each of ascending segments, in whose order they come. "" where they do anyway. */
  readonly segmentOrder: string;
  /** The function that gives how many bytes of UTF-8 a text has. */
  readonly byteLength: (text: string) => string;
  /** Messages are kept with their searchable text in a column `text_content`: the engine's documented table has one. */
  readonly keepsText: boolean;
  /** Each row names its session by its id, and so does each statement of one session: see `SessionRows`. */
  readonly namesSessions: boolean;
  /** Who registers a session gives it a number of its own; otherwise the table does. */
  readonly countsSessions: boolean;
  /** Rows are spread over servers by session: a statement of several sessions joins rows of one session only with each other. */
  readonly isSpread: boolean;
  /** The engine works in this process, so what a statement takes long for is divided: see `inPortions`. */
  readonly isInProcess: boolean;
  /** A statement may name the columns of a key, in `ON CONFLICT`. False where tenants may have added one to it. */
  readonly namesKeys: boolean;
  /** Milliseconds since 1970 by the clock of the database's server; null where there is no server. */
  readonly serverTime: string | null;
  /** The day of a column of times, in UTC, as `2026-11-22`. */
  readonly dayOf: (time: string) => string;
  /** How bytes go into a column and come out of it. */
  readonly bytes: BytesDialect;
  /** True for a column of JSON, an object, that has a field with this value; with null for one that lacks the field. */
  hasField(column: string, name: string, value: MetadataValue): Condition;
  /** Ends a query of a row that is written next: other writers of it wait. "" where a transaction excludes them all. */
  readonly forUpdate: string;
  /** Makes other writers of a session wait until the transaction ends; null where a transaction excludes them all. */
  readonly lockSession: ((sessionId: string) => Operation<void>) | null;
  /** Marks what is kept beside a message of row `n` that was edited; null where triggers do. */
  readonly markEdited: ((rows: SessionRows, rowId: number) => Operation<void>) | null;
  /** What this engine does better whole; whatever is missing is done by the operations that all engines share. */
  readonly native?: NativeOperations | undefined;
  /** The names of a table's columns; none when there is no such table. */
  columns(table: string): Operation<string[]>;
  /**
   * Makes one step towards the present version of the tables, from nothing or from any earlier state, and gives true when
   * none is left. Each step is a transaction of its own, and leaves a state from which another program may go on.
   */
  migrate(): Operation<boolean>;
}

export interface BytesDialect {
  /** Stands for a bound value. */
  readonly bound: string;
  /** Reads a column. */
  readonly read: (column: string) => string;
  /** A text by the order of its bytes, whatever the database's collation. */
  readonly ordered: (column: string) => string;
  encode(bytes: Uint8Array): SqlValue;
  decode(value: unknown): Uint8Array;
}

/**
 * Operations of one engine that replace shared ones, and behave as they do: the conformance suite runs on both. Their
 * statements are atomic by themselves and may be repeated, so they need no transaction.
 */
export interface NativeOperations {
  /** False for what `append` leaves to the shared operation. */
  mayAppend(messages: readonly EncodedMessage[], parent: ParentRef): boolean;
  /** See `SessionStore.append`; by a user where one is given. */
  append(
    sessionId: string,
    messages: readonly EncodedMessage[],
    parent: ParentRef,
    userId: string | undefined,
  ): Operation<Appended>;
  /** See `SessionStore.path`; by a user where one is given. Null for what is left to the shared operation. */
  path(sessionId: string, options: PathOptions, userId: string | undefined): Operation<SessionMessage[] | null>;
  /** See `SessionStore.recent`; by a user where one is given. Null for what is left to the shared operation. */
  recent(sessionId: string, options: RecentOptions, userId: string | undefined): Operation<RecentHistory | null>;
  /** Appends several messages within a transaction, some at a time. */
  appendList(
    sql: Dialect,
    sessionId: string,
    messages: readonly EncodedMessage[],
    parent: ParentRef,
  ): Operation<Appended>;
  /** Writes the messages of `importTree`, within its transaction. Gives how many were inserted. */
  importMessages(sql: Dialect, sessionId: string, messages: EncodedTree["messages"]): Operation<number>;
}

/** What an append did, before it is told. */
export interface Appended {
  /** For each message given: whether it was inserted. */
  readonly inserted: readonly boolean[];
  readonly lastId: string | null;
  readonly visibleTokens: number | null;
  readonly stored?: SessionMessage | null | undefined;
}

/** `ImportedTree`, its messages made ready to be written. */
export type EncodedTree = Omit<ImportedTree, "messages"> & {
  readonly messages: readonly (Omit<ImportedMessage, "message"> & { readonly message: EncodedMessage })[];
};

/** `ReadOptions`, with a function for what cannot be read: without one it is thrown. */
export interface PathOptions {
  readonly leafId?: string | undefined;
  readonly onCorrupt?: CorruptHandler;
  readonly summaries?: boolean | undefined;
  readonly createdAt?: boolean | undefined;
}

/** What `SessionStore.recent` is asked for. */
export interface RecentOptions extends PathOptions {
  readonly maxBytes: number;
  readonly minMessages: number;
}

/** Takes a stored row that could not be read back; `id` is "" where it has none. */
export type CorruptHandler = ((corrupt: { readonly id: string; readonly error: unknown }) => void) | undefined;
