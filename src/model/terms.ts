import { isAscii } from "./normal-text.js";
import { querySequences, type SearchQuery } from "./query.js";
import { stem } from "./stemmer.js";
import { words } from "./words.js";

/** An index key is bounded in every engine; two words that are alike so far are taken for the same one. */
const MAX_TERM_LENGTH = 100;
const MAX_FOLDED = 10 * MAX_TERM_LENGTH;

const MARKS_ON_LATIN = /(?<=\p{Script=Latin})[\u0300-\u036f]+/gu;

/** Terms that stand side by side in what is looked for: any of these sequences. */
export type TermSequences = readonly (readonly string[])[];

/** The terms of a text, in order: the words of its normal text without case, and without diacritics on Latin letters, stemmed. */
export function documentTerms(text: string): string[] {
  return words(text).map(termOf);
}

/** The sequences of terms that a query looks for; see `querySequences`. */
export function queryTerms(query: SearchQuery): TermSequences {
  return querySequences(query).map((sequence) => sequence.map(termOf));
}

/** The term that a word is found by. */
export function termOf(word: string): string {
  // Marks may fold away; what is far behind them makes no difference.
  if (word.length > MAX_FOLDED) return makeTerm(word.slice(0, MAX_FOLDED).toWellFormed());
  const known = terms.get(word);
  if (known !== undefined) return known;
  const term = makeTerm(word);
  if (terms.size >= MAX_TERMS) terms.clear();
  terms.set(word, term);
  return term;
}

function makeTerm(word: string): string {
  const folded = foldWord(word);
  return folded.length > MAX_TERM_LENGTH ? folded.slice(0, MAX_TERM_LENGTH).toWellFormed() : stem(folded);
}

// Texts use the same words over and over.
const terms = new Map<string, string>();
const MAX_TERMS = 10_000;

// A word without what does not tell it from others: case, and the diacritics of Latin letters.
function foldWord(word: string): string {
  const lower = word.toLowerCase();
  if (isAscii(lower)) return lower;
  // Upper case makes one of letters that are the same word's: "ß" and "ss", "ς" and "σ". Lower case makes a "ς" again at the end.
  return lower
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ")
    .normalize("NFD")
    .replace(MARKS_ON_LATIN, "")
    .normalize("NFC");
}
