import { StemmaError } from "@stemma/model";
import { addTerm, type Document } from "../check/check-dialect.js";
import { type Dialect, INDEX_TABLES, type SearchIndex } from "../engine/dialect.js";
import { first, type Operation, pause, tuples } from "../engine/operation.js";
import { rowAfter } from "../operations/messages/damage.js";
import { numbersOf } from "./match-queries.js";

/** How many entries of an index are read at once, and how many at most of a word that stands in it more often. */
const ENTRIES = 10_000;
const MOST_ENTRIES = 500_000;
/** How many lengths of documents. */
const LENGTHS = 5_000;

/** Entries of an index, ascending by their terms. */
export interface IndexEntries {
  readonly terms: readonly string[];
  readonly docs: readonly number[];
  readonly offsets: readonly number[];
}

// As lists in JSON: the driver takes far longer for a row of its own than the engine. From a term on, behind some of its own.
const ENTRIES_OF = (vocabulary: string) =>
  `SELECT json_group_array(term), json_group_array(doc), json_group_array("offset")
   FROM (SELECT term, doc, "offset" FROM ${vocabulary} WHERE term >= ? LIMIT ? OFFSET ?)`;

/** Reads an index page by page, in the order of its terms. */
export function* readEntries(
  vocabulary: string,
  note: (entries: IndexEntries) => void,
  between?: (last: string) => Operation<void>,
): Operation<void> {
  for (let from = "", passed = 0; ; ) {
    // Entries of one word are found only by passing those before them. So each page is as long as what it passes.
    const limit = Math.min(Math.max(ENTRIES, passed), MOST_ENTRIES);
    const [lists = []] = yield* tuples<string[]>(ENTRIES_OF(vocabulary), from, limit, passed);
    const [terms = [], docs = [], offsets = []] = lists.map((list) => JSON.parse(list));
    const last = terms.at(-1);
    if (last === undefined) return;
    if (passed > 0 && isBefore(last, from)) throw damagedIndex("gives its terms in no order");
    note({ terms, docs, offsets });
    if (between !== undefined) yield* between(last);
    if (terms.length < limit) return;
    const own = terms.length - terms.indexOf(last);
    passed = last === from ? passed + own : own;
    from = last;
  }
}

// What the tokenizer "ascii" of FTS5 takes for one.
const TOKENS = /[a-z0-9\u{80}-\u{10ffff}]+/gu;

/** The entries that documents have in an index that is right. */
export function entriesOf({ search }: Dialect, documents: readonly Document[]): IndexEntries {
  const [terms, docs, offsets]: [string[], number[], number[]] = [[], [], []];
  if (search === null || documents.length === 0) return { terms, docs, offsets };
  const rows = documents.map(({ n: rowId, text }) => ({ sessionId: "", rowId, document: text }));
  const adding = search.add("messages", rows);
  for (let step = adding.next([]); !step.done; step = adding.next([])) {
    for (const [rowId, text] of step.value.rows as [rowId: number, text: string][]) {
      for (const [offset, term] of (text.toLowerCase().match(TOKENS) ?? []).entries()) {
        terms.push(term);
        docs.push(rowId);
        offsets.push(offset);
      }
    }
  }
  return { terms, docs, offsets };
}

// SQLite orders texts by their bytes: a character beyond U+FFFF comes last, though its first unit in JavaScript does not.
function isBefore(one: string, other: string): boolean {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const units = [one.charCodeAt(at), other.charCodeAt(at)];
  // Of what ends earlier there is no unit.
  const [first = 0, second = 0] = units.map((unit) =>
    Number.isNaN(unit) ? -1 : isSurrogate(unit) ? unit + 0x10000 : unit,
  );
  return first < second;
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;

/** Adds entries of documents from `lo` to `hi` to the sums of these, and to their lengths. */
export function sumEntries(
  found: Map<number, number>,
  { terms, docs, offsets }: IndexEntries,
  lo: number,
  hi: number,
  lengths?: Map<number, number>,
): void {
  for (let index = 0; index < docs.length; index += 1) {
    const doc = docs[index] as number;
    if (doc < lo || doc > hi) continue;
    found.set(doc, addTerm(found.get(doc) ?? 0, terms[index] as string, offsets[index] as number));
    lengths?.set(doc, (lengths.get(doc) ?? 0) + 1);
  }
}

/** A search goes to a term by other pages than a look at all terms. */
export function* probeTerm(index: SearchIndex, term: string): Operation<void> {
  const query = `SELECT rowid FROM ${INDEX_TABLES[index]} WHERE ${INDEX_TABLES[index]} MATCH ? LIMIT 1`;
  if ((yield* first(query, `"${term.replaceAll('"', '""')}"`)) === undefined)
    throw damagedIndex("does not find its terms");
}

/**
 * The ranking divides by the number of terms of each document, and by their average: each stands in a table of its own. Documents whose
 * number is wrong get a sum that none has.
 */
export function* checkLengths(
  index: SearchIndex,
  lengths: Map<number, number>,
  lo: number,
  hi: number,
  sums: Map<number, number>,
): Operation<void> {
  let rows = 0;
  let sum = 0;
  yield* readLengths(index, lo, hi, (rowId, stored) => {
    const length = lengths.get(rowId) ?? 0;
    lengths.delete(rowId);
    if (stored !== length) sums.set(rowId, Number.NaN);
    rows += 1;
    sum += length;
  });
  for (const rowId of lengths.keys()) sums.set(rowId, Number.NaN);
  const { present, count, total } = yield* readTotals(index);
  if (present === 0) return;
  // FTS5 goes on counting documents that were deleted.
  if (count < present || (rows === present && total < sum)) throw damagedIndex("has wrong totals");
}

/** Reads the lengths of documents, in the order of their rows; NaN for what is none. */
export function* readLengths(
  index: SearchIndex,
  lo: number,
  hi: number,
  note: (rowId: number, length: number) => void,
): Operation<void> {
  const query = `SELECT id, hex(sz) AS size FROM ${INDEX_TABLES[index]}_docsize WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${LENGTHS}`;
  for (let from = lo; ; ) {
    const page = yield* tuples<[rowId: number, size: string]>(query, from, hi);
    for (const [rowId, size] of page) {
      const [length = Number.NaN, ...others] = numbersOf(size);
      note(rowId, others.length === 0 ? length : Number.NaN);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    from = rowAfter(last[0], from);
    yield* pause();
  }
}

/** How many documents there are, how many the index counts, and their terms. */
export function* readTotals(index: SearchIndex): Operation<{ present: number; count: number; total: number }> {
  const query = `SELECT count(*) AS count, (SELECT hex(block) FROM ${INDEX_TABLES[index]}_data WHERE id = 1) AS block FROM ${INDEX_TABLES[index]}_docsize`;
  const totals = yield* first<{ count: number; block: string | null }>(query);
  const [count = 0, total = 0] = numbersOf(totals?.block ?? "");
  return { present: totals?.count ?? 0, count, total };
}

function damagedIndex(how: string): StemmaError {
  return new StemmaError("STORE_FAILED", {}, `The search index ${how}.`);
}
