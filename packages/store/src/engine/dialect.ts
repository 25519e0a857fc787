import type {
  EncodedMessage,
  Matches,
  Ranked,
  RowAddress,
  SearchQuery,
  SessionMessage,
  TermSequences,
} from "@stemma/model";
import { messagesOf, quotedFrom, rankMatches } from "@stemma/model";
import type { ImportedMessage, ImportedTree, MetadataValue, ParentRef, RecentHistory } from "../contract/store.js";
import type { Condition, Layout, Operation, SessionRows, SqlValue } from "./operation.js";
/** The SQL that one engine says differently. Everything else is written once, in the operations beside this file. */
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
  /** Where the rows are, and how a statement tells whose they are. */
  readonly layout: Layout;
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
  /** Notes that the entry of row `n` was written, for whatever is kept beside it; null where triggers do. */
  readonly markEntry: ((sessionId: string, rowId: number) => Operation<void>) | null;
  /** Operations that this engine does better whole; whatever is missing is done by the operations that all engines share. */
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
  /** The operation behind `SessionStore.append`; by a user where one is given. */
  append(
    sessionId: string,
    messages: readonly EncodedMessage[],
    parent: ParentRef,
    userId: string | undefined,
  ): Operation<Appended>;
  /** The operation behind `SessionStore.path`; by a user where one is given. Null for what is left to the shared operation. */
  path(sessionId: string, options: PathOptions, userId: string | undefined): Operation<SessionMessage[] | null>;
  /** The operation behind `SessionStore.recent`; by a user where one is given. Null for what is left to the shared operation. */
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

/** The result of an append, before it is told. */
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

/** The request of `SessionStore.recent`. */
export interface RecentOptions extends PathOptions {
  readonly maxBytes: number;
  readonly minMessages: number;
}

/** Takes a stored row that could not be read back; `id` is "" where it has none. */
export type CorruptHandler = ((corrupt: { readonly id: string; readonly error: unknown }) => void) | undefined;

/** Full-text search of one engine. */
export interface SearchDialect {
  /** A table for each index with a column `n`: the rows that are indexed, or noted to be. */
  readonly rows: Readonly<Record<SearchIndex, string>>;
  /** Messages that are written are noted in `assistant_unindexed` first: to index many at once takes a fraction of the time. */
  readonly indexesLater?: boolean;
  /**
   * A search may be one statement, or two, without a transaction: `matches` sees one state, and tells `hits` which one it was. Missing
   * where it never may; whether it may is known when the store has looked at its tables.
   */
  readonly atOnce?: boolean;
  /** True: this store indexes what it writes with tool calls. Rows of another store may be indexed otherwise, and are right as they are. */
  readonly tools: boolean;
  /** Indexes documents of messages or of entries, none of which is indexed yet. */
  add(index: SearchIndex, documents: readonly IndexedDocument[]): Operation<void>;
  /** Indexes documents, ascending by `n`, anew: whatever was indexed of the rows from the first to the last of them is gone. */
  replace(index: SearchIndex, documents: readonly IndexedDocument[]): Operation<void>;
  /**
   * Indexes copies of messages as those are: of a path in the session `from`, whose rows `messages` gives as `m`, each
   * `shift` rows behind it in the session `to`. Missing where an index has nothing to copy.
   */
  copy?(from: SessionRows, to: SessionRows, shift: number, messages: Condition): Operation<void>;
  /** Takes the rows from `lo` to `hi` out of an index; null for those of whichever session. */
  remove(index: SearchIndex, sessionId: string | null, lo: number, hi: number): Operation<void>;
  /**
   * For each sequence of terms that a query looks for (see `queryTerms`), the messages that hold it: of the rows from
   * `lo` to `hi`, or of all rows. About `limit` matches are scored, those of the rarest sequences first and of one
   * sequence the newest; of each of the `RAREST` sequences at least `FEWEST`, or all that there are.
   *
   * Where several sequences have matches, the `others` are looked for of each of which not every match is scored: among the
   * messages that have a match no more than four messages away; where thousands hold it, only among those that hold another
   * sequence themselves.
   *
   * Where no more than `shown` messages match, an engine may give their rows as well.
   */
  matches(sequences: TermSequences, range: RowRange, limit: number, shown?: number): Operation<FoundMatches>;
  /**
   * Matches among sessions that the statement finds itself; null where they are more than it looks into. Missing where that is
   * never one statement.
   */
  matchesOf?(
    sequences: TermSequences,
    sessions: ChosenSessions,
    limit: number,
    shown: number,
  ): Operation<FoundMatches | null>;
  /**
   * The rows of messages, in any order; of those that were found by a statement that is over only what is still as it was `since`.
   * Null, or missing, where the shared statement reads them.
   */
  hits?(addresses: readonly RowAddress[], since?: number | null): Operation<FoundRow[] | null>;
  /** The best matches among the entries `e` for which a condition holds. */
  entries(query: SearchQuery, within: EntriesWithin, limit: number): Operation<Ranked[]>;
}

/** A condition on entries `e`, and the ids of the sessions or scopes whose they are. */
export interface EntriesWithin {
  readonly where: string;
  readonly values: readonly SqlValue[];
  readonly sessionIds: readonly string[];
}

/** The rows from `lo` to `hi`, only those of one session where its id is given, or of `several`; null for all rows. */
export type RowRange = {
  readonly lo: number;
  readonly hi: number;
  readonly sessionId: string | null;
  readonly several?: SeveralSessions | undefined;
  /** The sessions that a search is about, also where they are too many to look for words in each; missing for one or all. */
  readonly chosen?: SeveralSessions | undefined;
} | null;

/** Some sessions: their ids, and the rows that have their numbers, in ascending order. Where rows name their session, others may share these. */
export interface SeveralSessions {
  readonly ids: readonly string[];
  readonly ranges: readonly (readonly [lo: number, hi: number])[];
}

/** The sessions `s` for which a condition holds, only those of `ids` where these are given. */
export interface ChosenSessions {
  readonly ids: readonly string[] | null;
  readonly where: Condition;
  /** The condition is one of a few. */
  readonly isFrequent: boolean;
}

/** The finds of a search, before they are ranked. */
export interface FoundMatches {
  readonly sequences: readonly SequenceMatches[];
  /** How many terms each of the messages has, the others too. */
  readonly lengths: ReadonlyMap<number, number>;
  /** The branches of messages of sessions that have several, by their numbers; null where they are to be looked for. */
  readonly branches: ReadonlyMap<number, number> | null;
  /**
   * Where rows name their session: the sessions of the messages. Their numbers here, in those of the messages too, are their
   * ordinals in this list, from 1 on.
   */
  readonly sessions: readonly NumberedSession[] | null;
  /** The rows of all messages; missing where they are to be read. */
  readonly rows?: readonly FoundRow[] | undefined;
  /** Passed on to `hits`, where the statement saw a state that can be told from later ones. */
  readonly since?: number | undefined;
}

/** A session, and the number that its row ids begin with. */
export interface NumberedSession {
  readonly id: string;
  readonly no: number;
}

/** The row of a message that a search shows. */
export interface FoundRow {
  readonly n: number;
  readonly id: string;
  readonly session_id: string;
  readonly branch: number;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
  readonly content: string;
  /** Of how many compactions that have it in their range it is not known whether it lies on their path; where of one, it is not for the others. */
  readonly covering: number;
  /** JSON of the ids of those that cover it, newest first, where that is known. */
  readonly covered_by?: string | null;
}

/** The messages that hold a sequence of words, those of them that are scored, by BM25. */
export interface SequenceMatches extends Matches {
  /** How many there are, as far as it is known: an engine need not count on beyond some thousands. */
  readonly documents: number;
  /** True when every one of them is scored. */
  readonly complete: boolean;
  /** Other messages that hold it, and perhaps some of those that are scored. Ascending. */
  readonly others: readonly number[];
}

/** A row with the text that is indexed of it; "" for nothing. */
export interface IndexedDocument {
  readonly sessionId: string;
  readonly rowId: number;
  readonly document: string;
  /** Its message takes long to read again. */
  readonly isLarge?: boolean | undefined;
}

export type SearchIndex = "messages" | "entries";

/** The table of each index, whatever the engine. */
export const INDEX_TABLES = { messages: "assistant_fts", entries: "cf_agents_search_fts" } as const;

/** The best of entries, ranked as messages would be each of which is alone in its session. */
export function rankEntries(
  query: SearchQuery,
  matches: readonly Matches[],
  lengths: ReadonlyMap<number, number>,
  limit: number,
): Ranked[] {
  const alone = { sessionOf: (n: number) => n, branchOf: (n: number) => n };
  return rankMatches(
    matches,
    { messages: messagesOf(matches), lengths, ...alone },
    { quotedFrom: quotedFrom(query), best: limit },
  );
}
