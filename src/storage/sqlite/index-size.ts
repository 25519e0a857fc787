import type { ScopeSize } from "../../model/bm25.js";
import { column, type Operation } from "../engine/operation.js";
import { INDEX_TABLES, type SearchIndex } from "../engine/search-dialect.js";

/** How large an index is. FTS5 keeps how many documents it has, and how many terms these have together. */
export function* sizeOfIndex(index: SearchIndex): Operation<ScopeSize> {
  const [sums = ""] = yield* column<string>(`SELECT hex(block) FROM ${INDEX_TABLES[index]}_data WHERE id = 1`);
  const [documents = 0, terms = 0] = numbersOf(sums);
  return { documents, length: terms / Math.max(1, documents) };
}

/** SQL for how many terms the row at hand of an index has, to be read by `numbersOf`; nothing where that is damaged. */
export const lengthOf = (index: SearchIndex) =>
  `coalesce((SELECT hex(sz) FROM ${INDEX_TABLES[index]}_docsize WHERE id = ${INDEX_TABLES[index]}.rowid), '')`;

/** The lengths of messages, which came as JSON, the newest first; those that are damaged are taken to be as long as most. */
export function lengthsFrom(newestFirst: string | undefined, usual: number): number[] {
  return (JSON.parse(newestFirst ?? "[]") as string[]).reverse().map((text) => numbersOf(text)[0] ?? usual);
}

/** Numbers as FTS5 writes them: seven bits in each byte, of which all but the last of a number have the highest one set. */
export function numbersOf(hex: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (let at = 0; at < hex.length; at += 2) {
    const byte = Number.parseInt(hex.slice(at, at + 2), 16);
    number = number * 128 + (byte & 127);
    if (byte > 127) continue;
    numbers.push(number);
    number = 0;
  }
  return numbers;
}
