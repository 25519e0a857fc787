import { addSum, addTerm, type IndexSums } from "../check/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { SearchIndex } from "../engine/search-dialect.js";
import { entriesOf, type IndexEntries, readLengths, readTotals } from "./index-entries.js";

type ReadIndex = (index: SearchIndex, note: (entries: IndexEntries) => void) => Operation<void>;

/**
 * FTS5 keeps its entries by their terms, so whoever wants those of some documents reads them all. The sums of all windows are
 * made in one look.
 */
export function indexSums(readAll: ReadIndex): IndexSums {
  return {
    *indexed(index, ends) {
      const sums = new Array<number>(ends.length + 1).fill(0);
      const lengths = [...sums];
      const add = (list: number[], rowId: number, addTo: (sum: number) => number): void => {
        const window = windowOf(ends, rowId);
        list[window] = addTo(list[window] as number);
      };
      yield* readAll(index, (entries) => {
        for (const [at, rowId] of entries.docs.entries()) {
          add(sums, rowId, (sum) => addEntry(sum, entries, at));
          add(lengths, rowId, (sum) => addSum(sum, weightOf(rowId)));
        }
      });
      const stored = new Array<number>(sums.length).fill(0);
      yield* readLengths(index, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, (rowId, length) =>
        add(stored, rowId, (sum) => addSum(sum, weightOf(rowId) * length)),
      );
      const { present, count } = yield* readTotals(index);
      const isCounted = present === 0 || count >= present;
      return sums.map((sum, window) => (isCounted && lengths[window] === stored[window] ? sum : Number.NaN));
    },
    *expected(sql, documents) {
      const entries = entriesOf(sql, documents);
      return entries.docs.reduce((sum, _, at) => addEntry(sum, entries, at), 0);
    },
  };
}

/** The window that a row is in. */
function windowOf(ends: readonly number[], rowId: number): number {
  let [lo, hi] = [0, ends.length];
  while (lo < hi) {
    const middle = (lo + hi) >>> 1;
    if ((ends[middle] as number) < rowId) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

// A row is a number of up to 53 bits, of which both halves count.
const hashOf = (rowId: number) => mixed(mixed(rowId) ^ Math.floor(rowId / 2 ** 32));

// The same terms in another document are something else.
function addEntry(sum: number, { terms, docs, offsets }: IndexEntries, at: number): number {
  return addTerm(sum, terms[at] as string, mixed(hashOf(docs[at] as number) + (offsets[at] as number)));
}

// A number of 20 bits, so that it can be multiplied by a length.
const weightOf = (rowId: number) => (hashOf(rowId) >>> 12) + 1;

// Of 32 bits, each of which depends on all of the number's lower 32: the last steps of MurmurHash3.
function mixed(number: number): number {
  let hash = number | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
