import type { Matches, Ranked, RowAddress } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type { Condition, Operation, SqlValue } from "./operation.js";
import type { SessionRows } from "./session-rows.js";

/** Full-text search of one engine. */
export interface SearchDialect {
  /** A table for each index with a column `n`: the rows that are indexed, or noted to be. */
  readonly rows: Readonly<Record<SearchIndex, string>>;
  /** Messages that are not indexed yet may be noted in `assistant_unindexed`. */
  readonly mayLag: boolean;
  /** Messages that are written are noted there first: to index many at once takes a fraction of the time. */
  readonly indexesLater: boolean;
  /**
   * A search may be one statement, or two, without a transaction: `matches` sees one state, and tells `hits` which one it was. Missing
   * where it never may; whether it may is known when the store has looked at its tables.
   */
  readonly atOnce?: boolean;
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
   * The same among sessions that the statement finds itself; null where they are more than it looks into. Missing where that is
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
  entries(
    sequences: TermSequences,
    within: { readonly where: string; readonly values: readonly SqlValue[]; readonly sessionIds: readonly string[] },
    limit: number,
  ): Operation<Ranked[]>;
}

/** The rows from `lo` to `hi`, only those of one session where its id is given, or of `several`; null for all rows. */
export type RowRange = {
  readonly lo: number;
  readonly hi: number;
  readonly sessionId: string | null;
  readonly several?: SeveralSessions | undefined;
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

/** What a search finds, before it is ranked. */
export interface FoundMatches {
  readonly sequences: readonly SequenceMatches[];
  /** The branches of messages of sessions that have several, by their numbers; null where they are to be looked for. */
  readonly branches: ReadonlyMap<number, number> | null;
  /**
   * Where rows name their session: the sessions of the messages. Their numbers here, in those of the messages too, are their
   * ordinals in this list, from 1 on.
   */
  readonly sessions: readonly NumberedSession[] | null;
  /** The rows of all messages; missing where they are to be read. */
  readonly rows?: readonly FoundRow[] | undefined;
  /** What `hits` is told, where the statement saw a state that can be told from later ones. */
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

/** What is indexed of a row; "" for nothing. */
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
