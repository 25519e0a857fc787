import type { RowAddress } from "@stemma/model";
import type { VectorTable } from "../embeddings/vector-bytes.js";
import type { Dialect, SearchIndex } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { ReadTo } from "../operations/search/index-rows.js";

/** The parts of a check that each engine does in its own way. */
export interface CheckDialect {
  /** Lets the engine look for faults of its own file; null where it cannot be asked. */
  readonly integrity: (() => Operation<EngineFault[]>) | null;
  /** Makes the engine's own indexes of our tables anew. */
  reindex(): Operation<void>;
  /** SQL for how many numbers the column `v.vector` holds. */
  readonly vectorLength: string;
  /** SQL for the packs (`SIGN_TABLES`) that do not hold the signs of their vectors. Missing where rows hold their own. */
  readonly wrongPacks?: ((table: VectorTable) => string) | undefined;
  /** Looking into a search index makes tables for a while. */
  readonly indexCheckWrites: boolean;
  /** How many documents are compared with one look at an index. */
  readonly window: Readonly<Record<SearchIndex, number>>;
  /** For each document that an index holds of rows that are looked at together: what tells its row, and a fingerprint of its terms. */
  indexed(sql: Dialect, index: SearchIndex, window: IndexWindow): Operation<Map<number | string, number>>;
  /** A fingerprint of the terms of each document, as they would be indexed. Those without a term are left out. */
  expected(sql: Dialect, documents: readonly Document[]): Operation<Map<number | string, number>>;
  /** Where a look at some rows of an index takes as long as one at all of them. */
  readonly sums?: IndexSums | undefined;
  /** Called before those above, and after them. */
  open(): Operation<void>;
  close(): Operation<void>;
  /** Takes out of the search index what stands in the way of making it anew. */
  emptyIndex(sql: Dialect): Operation<void>;
}

/** One number for all terms of many documents. It tells what the fingerprints of each would, but not of which. */
export interface IndexSums {
  /** Of what the index holds, for each window; NaN where the window cannot be right. `ends`: the last row of each but the last, ascending. */
  indexed(index: SearchIndex, ends: readonly number[]): Operation<number[]>;
  /** Of documents, as they would be indexed. */
  expected(sql: Dialect, documents: readonly Document[]): Operation<number>;
}

/** Rows behind one, up to another one or all: messages as `messagesBetween` orders them, entries by their numbers. */
export interface IndexWindow {
  readonly after: ReadTo;
  readonly to: ReadTo | null;
}

export interface Document extends RowAddress {
  readonly text: string;
}

export interface EngineFault {
  readonly message: string;
  /** The repair that makes it right: of the engine's own index, of the search index, of rows; none of ours. */
  readonly mend: "reindex" | "search" | "rows" | "nothing";
}

/** A number that tells one sequence of terms from others, whatever the order in which they are added. */
export function addTerm(sum: number, term: string, position: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(position + 1, 0x9e3779b1);
  for (let index = 0; index < term.length; index += 1) hash = Math.imul(hash ^ term.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return addSum(sum, (hash ^ (hash >>> 13)) >>> 0);
}

/** The sum of numbers below 2^52, whatever the order in which they are added. */
export function addSum(sum: number, number: number): number {
  return (sum + number) % 2 ** 52;
}
