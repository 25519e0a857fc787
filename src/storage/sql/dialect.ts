import type { SearchQuery } from "../../model/query.js";
import type { Operation } from "./operation.js";

/** What one SQL engine says differently. Everything else is written once, in the operations beside this file. */
export interface Dialect {
  readonly name: string;
  /** The largest text that one column takes, in bytes of UTF-8; longer ones are kept in pieces. */
  readonly maxTextBytes: number;
  /** Full-text search, or null where it is switched off or missing. */
  readonly search: SearchDialect | null;
  /** A table with columns `branch`, `lo`, `hi`, read from one parameter that holds a JSON array of such arrays. */
  readonly segmentTable: string;
  /** Brings the tables to the present version, from nothing or from any earlier state. */
  migrate(): Operation<void>;
}

/** A row and how well it matches; higher is better. */
export interface Ranked {
  readonly n: number;
  readonly score: number;
}

export interface SearchDialect {
  /** Indexes the document of row `n` of messages or of entries, which is not indexed yet. */
  add(index: SearchIndex, n: number, document: string): Operation<void>;
  /** Takes the rows from `lo` to `hi` out of an index. */
  remove(index: SearchIndex, lo: number, hi: number): Operation<void>;
  /** The best matches among messages, of the rows from `lo` to `hi` if a range is given. */
  messages(query: SearchQuery, range: readonly [lo: number, hi: number] | null, limit: number): Operation<Ranked[]>;
  /** The best matches among the entries of one scope. */
  entries(query: SearchQuery, scope: { sessionId: string; label: string }, limit: number): Operation<Ranked[]>;
}

export type SearchIndex = "messages" | "entries";
