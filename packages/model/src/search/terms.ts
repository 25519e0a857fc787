import { querySequences, type SearchQuery } from "./query.js";
import { isAscii, words } from "./words.js";

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

/**
 * Porter 2, the stemmer that Snowball calls English (https://snowballstem.org/algorithms/english/stemmer.html), as its
 * authors have it since 2025. The test holds it against every word of their list.
 */

const SPECIAL = new Map(
  ["skis ski", "skies sky", "idly idl", "gently gentl", "ugly ugli", "early earli", "only onli", "singly singl"]
    .concat("sky news howe atlas cosmos bias andes".split(" ").map((word) => `${word} ${word}`))
    .map((pair) => pair.split(" ") as [string, string]),
);

// Beginnings that are not the word without its ending: "university" is not "universe".
const WHOLE = /^(?:gener|commun|arsen|past|univers|later|emerg|organ|inter)/;

const VOWEL = /[aeiouy]/;
const SYLLABLE = /[aeiouy][^aeiouy]/g;

// Consonant, vowel, consonant at the end, the last not w, x or y.
const SHORT = /(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|past)$/;

/** Of a step: what each ending becomes. */
interface Endings {
  readonly all: ReadonlyMap<string, string>;
  /** The letters that one of them ends with: most words end with none. */
  readonly last: ReadonlySet<number>;
}

const STEP_2 = endings(
  "tional tion, enci ence, anci ance, abli able, entli ent, izer ize, ization ize, ational ate, ation ate, ator ate, alism al, aliti al, alli al, fulness ful, ousli ous, ousness ous, iveness ive, iviti ive, biliti ble, bli ble, ogist og, ogi og, fulli ful, lessli less, li",
);
const STEP_3 = endings("tional tion, ational ate, alize al, icate ic, iciti ic, ical ic, ful, ness, ative");
const STEP_4 = endings("al, ance, ence, er, ic, able, ible, ant, ement, ment, ent, ism, ate, iti, ous, ive, ize, ion");

function endings(list: string): Endings {
  const pairs = list.split(", ").map((pair) => pair.split(" ") as [string, string?]);
  return {
    all: new Map(pairs.map(([from, to = ""]) => [from, to])),
    last: new Set(pairs.map(([from]) => from.charCodeAt(from.length - 1))),
  };
}

export function stem(word: string): string {
  const special = SPECIAL.get(word);
  if (special !== undefined) return special;
  // What ends in no letter of English has none of its endings: numbers, ids, words of other scripts.
  if (word.length < 3 || !/[a-z']$/.test(word)) return word;
  // A "Y" is a consonant.
  const bare = word.startsWith("'") ? word.slice(1) : word;
  const marked = bare.includes("y") ? bare.replace(/(^|[aeiouy])y/g, "$1Y") : bare;
  const [r1, r2] = regionsOf(marked);
  let stemmed = stripPlural(marked);
  stemmed = stripParticiple(stemmed, r1);
  if (/[yY]$/.test(stemmed)) stemmed = stemmed.replace(/(.[^aeiouy])[yY]$/su, "$1i");
  stemmed = replaceEnding(stemmed, STEP_2, r1);
  const third = longestEnding(stemmed, STEP_3);
  if (third !== "ative" || stemmed.length - third.length >= r2) stemmed = replaceEnding(stemmed, STEP_3, r1);
  stemmed = stripFinal(replaceEnding(stemmed, STEP_4, r2), r1, r2);
  return stemmed.replaceAll("Y", "y");
}

// Where the endings that a step may take away begin: behind the first, and behind the second vowel with a consonant after it.
function regionsOf(word: string): [r1: number, r2: number] {
  SYLLABLE.lastIndex = 0;
  const whole = WHOLE.exec(word)?.[0].length;
  const r1 = whole ?? (SYLLABLE.test(word) ? SYLLABLE.lastIndex : word.length);
  SYLLABLE.lastIndex = r1;
  return [r1, SYLLABLE.test(word) ? SYLLABLE.lastIndex : word.length];
}

function stripPlural(word: string): string {
  const base = word.includes("'") ? word.replace(/'(?:s'?)?$/, "") : word;
  if (!/[sd]$/.test(base)) return base;
  if (base.endsWith("sses")) return base.slice(0, -2);
  if (/ie[ds]$/.test(base)) return base.slice(0, base.length > 4 ? -2 : -1);
  if (!base.endsWith("s") || /[us]s$/.test(base)) return base;
  return VOWEL.test(base.slice(0, -2)) ? base.slice(0, -1) : base;
}

function stripParticiple(word: string, r1: number): string {
  const ending = /[dgy]$/.test(word) ? /(?:eed|ed|ing)(?:ly)?$/.exec(word)?.[0] : undefined;
  if (ending === undefined) return word;
  const base = word.slice(0, -ending.length);
  if (ending.startsWith("eed")) return base.length < r1 || /^(?:proc|exc|succ)$/.test(base) ? word : `${base}ee`;
  if (ending === "ing") {
    if (/^[^aeiouy]y$/.test(base)) return `${base.slice(0, -1)}ie`;
    if (/^(?:inn|out|cann|herr|earr|even)$/.test(base)) return word;
  }
  if (!VOWEL.test(base)) return word;
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`;
  if (/(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(base)) return /^[aeo]..$/.test(base) ? base : base.slice(0, -1);
  return base.length === r1 && SHORT.test(base) ? `${base}e` : base;
}

function longestEnding(word: string, step: Endings): string {
  if (!step.last.has(word.charCodeAt(word.length - 1))) return "";
  for (let length = Math.min(7, word.length); length > 1; length -= 1) {
    const ending = word.slice(-length);
    if (step.all.has(ending)) return ending;
  }
  return "";
}

// An ending that stands before the region, or that its letter before it does not allow, stays, and so do shorter ones.
function replaceEnding(word: string, step: Endings, region: number): string {
  const ending = longestEnding(word, step);
  const start = word.length - ending.length;
  if (ending === "" || start < region) return word;
  if (NEEDS[ending]?.includes(word[start - 1] ?? "") === false) return word;
  return word.slice(0, start) + step.all.get(ending);
}

/** The letters of which one must stand before an ending. */
const NEEDS: Readonly<Record<string, string>> = { li: "cdeghkmnrt", ogi: "l", ion: "st" };

function stripFinal(word: string, r1: number, r2: number): string {
  const base = word.slice(0, -1);
  if (word.endsWith("e")) return base.length >= r2 || (base.length >= r1 && !SHORT.test(base)) ? base : word;
  return word.endsWith("ll") && base.length >= r2 ? base : word;
}
