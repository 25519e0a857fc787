import { utf8Length } from "../../model/utf8.js";

/**
 * The terms of a document, with a space between them, as one value of at most `maxBytes` for the index. Of a document that is too large the beginning is
 * kept, and of the rest each term once while there is room: its words are found wherever they stand, phrases near its beginning.
 */
export function fitTerms(whole: string, maxBytes: number): string {
  if (whole.length * 3 <= maxBytes || utf8Length(whole) <= maxBytes) return whole;
  const terms = whole.split(" ");
  const kept: string[] = [];
  let room = maxBytes;
  let next = 0;
  const keep = (term: string): void => {
    const bytes = utf8Length(term) + 1;
    if (bytes > room) return;
    kept.push(term);
    room -= bytes;
  };
  for (; next < terms.length && room > maxBytes / 2; next += 1) keep(terms[next] as string);
  for (const term of new Set(terms.slice(next))) keep(term);
  return kept.join(" ");
}
