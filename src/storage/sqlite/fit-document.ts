import { utf8Length } from "../../model/text.js";
import { MAX_UNIT_BYTES, sqliteWords } from "./words.js";

/**
 * What an engine indexes of a document when one value holds `maxBytes`. A document that is too large keeps its beginning,
 * and of the rest each word once while there is room: its words are found wherever they stand, phrases near its beginning.
 */
export function fitDocument(document: string, maxBytes: number): string {
  if (document.length * MAX_UNIT_BYTES <= maxBytes || indexedBytes(document) <= maxBytes) return document;
  const length = beginningOf(document, Math.floor(maxBytes / MAX_UNIT_BYTES / 2));
  const beginning = document.slice(0, length);
  let room = maxBytes - indexedBytes(beginning);
  const words = new Set<string>();
  for (const [word] of document.slice(length).matchAll(/\S+/g)) {
    const bytes = indexedBytes(word) + 1;
    if (bytes > room || words.has(word)) continue;
    words.add(word);
    room -= bytes;
  }
  return [beginning, ...words].join(" ");
}

function indexedBytes(text: string): number {
  return utf8Length(sqliteWords(text));
}

// Where the beginning ends: between two words, if there are any.
function beginningOf(document: string, limit: number): number {
  const space = document.lastIndexOf(" ", limit);
  return space > limit / 2 ? space : limit;
}
