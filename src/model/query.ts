import { perObject } from "../once.js";
import { stopWordsOf } from "./stop-words.js";

/** A query, taken apart: what the user typed holds no operators, only words. */
export interface SearchQuery {
  /** As the user typed it, as far as it counts: the first 16,384 characters. */
  readonly text: string;
  /** Words to look for, lower case, without stop-words unless there is nothing else; each once. */
  readonly words: readonly string[];
  /** Runs of characters of scripts that are written without spaces, as typed; each once. */
  readonly runs: readonly string[];
  /** Phrases the user put in quotation marks: the words and runs of each, in order. */
  readonly phrases: readonly (readonly string[])[];
}

// Scripts in which a word is not set off by spaces: each character is indexed by itself.
const SCRIPTS = "Han Hiragana Katakana Hangul Thai Lao Khmer Myanmar".split(" ").map((name) => `\\p{Script=${name}}`);
const IN_WORDS = "\\p{L}\\p{N}\\p{M}\\p{Co}";
const UNSPACED = `[[${SCRIPTS.join("")}々〆ー]&&[${IN_WORDS}]]`;
// What takes megabytes in one go overflows the stack, for the engine keeps each step: a longer token is found in parts.
const MAX_RUN = 10_000;
const AT_ONCE = `{1,${MAX_RUN}}`;
const TOKEN = new RegExp(`${UNSPACED}${AT_ONCE}|[[${IN_WORDS}]--${UNSPACED}]${AT_ONCE}`, "gv");
// The same, but for each character of an unspaced script by itself.
const WORD = new RegExp(`${UNSPACED}|[[${IN_WORDS}]--${UNSPACED}]${AT_ONCE}`, "gv");
const BETWEEN_WORDS = new RegExp(`[^${IN_WORDS}]`, "v");
const UNSPACED_RUN = new RegExp(`^${UNSPACED}`, "v");
const HAS_UNSPACED = new RegExp(UNSPACED, "v");
const QUOTED = /"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」/gu;

/** Characters of a query that count, and different words, or sequences of them: more make it slower, not better. */
const MAX_LENGTH = 16_384;
const MAX_WORDS = 256;

/** Characters of a query in which quotation marks count: those that are never closed are looked for far. */
const MAX_QUOTING = 2_000;

/** Takes a query apart. Never throws; a query without a word gives one that finds nothing. */
export function parseQuery(query: string): SearchQuery {
  const text = query.slice(0, MAX_LENGTH);
  const tokens = tokenize(text);
  const words = new Set(tokens.filter((token) => !isUnspaced(token)).map((word) => word.toLowerCase()));
  const runs = new Set(tokens.filter((token) => isUnspaced(token)));
  const isStopWord = stopWordsOf(words);
  const content = [...words].filter((word) => !isStopWord(word));
  const phrases: string[][] = [];
  for (const match of text.slice(0, MAX_QUOTING).matchAll(QUOTED)) {
    const phrase = tokenize(match.slice(1).find((group) => group !== undefined) ?? "");
    if (phrase.length > 1) phrases.push(phrase);
  }
  return {
    text,
    words: content.length > 0 || runs.size > 0 ? content : [...words],
    runs: [...runs],
    phrases,
  };
}

/**
 * What to look for, as sequences of words that stand side by side; a character of an unspaced script is a word. A row
 * matches when it holds any of them. An unspaced run is looked for whole, and by each two of its characters. Quoted
 * phrases stand last, from `quotedFrom` on.
 */
export function querySequences(query: SearchQuery): readonly string[][] {
  return sequencesOf(query).all;
}

/** The index of the first sequence that is looked for only because it was quoted. */
export function quotedFrom(query: SearchQuery): number {
  return sequencesOf(query).quotedFrom;
}

interface Sequences {
  readonly all: readonly string[][];
  readonly quotedFrom: number;
}

// The search asks for them, and the snippet of each result.
const sequencesOf = perObject((query: SearchQuery): Sequences => {
  const plain = plainSequences(query);
  const quoted = query.phrases.map((phrase) =>
    phrase.flatMap((token) => (isUnspaced(token) ? Array.from(token) : [token])),
  );
  return { all: unique([...plain, ...quoted]).slice(0, MAX_WORDS), quotedFrom: plain.length };
});

function plainSequences(query: SearchQuery): string[][] {
  const sequences = query.words.map((word) => [word]);
  for (const run of query.runs) {
    const characters = Array.from(run).slice(0, MAX_WORDS);
    sequences.push(characters);
    if (characters.length > 2) {
      sequences.push(...characters.slice(1).map((character, index) => [characters[index] as string, character]));
    }
  }
  return unique(sequences).slice(0, MAX_WORDS);
}

function unique(sequences: readonly string[][]): string[][] {
  return [...new Map(sequences.map((sequence) => [sequence.join("\0"), sequence])).values()];
}

/** The words and unspaced runs of a text, in order, up to the one that would be too many different ones. */
export function tokenize(text: string): string[] {
  const found: string[] = [];
  const different = new Set<string>();
  for (const token of tokensOf(text)) {
    if (different.add(token).size > MAX_WORDS) break;
    found.push(token);
  }
  return found;
}

/** All words of a text, in order, each character of an unspaced script by itself. */
export function words(text: string): string[] {
  if (isAscii(text)) return text.match(/[\dA-Za-z]+/g) ?? [];
  const parts = text.toWellFormed().split(BETWEEN_WORDS);
  return parts.filter(Boolean).flatMap((part) => (HAS_UNSPACED.test(part) ? apart(part) : part));
}

function apart(part: string): string[] {
  const found = part.match(WORD) ?? [];
  if (!found.some(({ length }) => length >= MAX_RUN)) return found;
  return tokensOf(part).flatMap((token) => (isUnspaced(token) ? Array.from(token) : token));
}

/** True for a text of nothing but ASCII. */
export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

function tokensOf(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const tokens = wellFormed.match(TOKEN) ?? [];
  return tokens.some(({ length }) => length >= MAX_RUN) ? wholeTokens(wellFormed) : tokens;
}

// Parts of one token touch each other, and are of the same kind.
function wholeTokens(text: string): string[] {
  const found: string[] = [];
  let end = -1;
  let isLastUnspaced = false;
  for (const { 0: part, index } of text.matchAll(TOKEN)) {
    const isPartUnspaced = isUnspaced(part);
    if (index === end && isPartUnspaced === isLastUnspaced) found[found.length - 1] += part;
    else found.push(part);
    end = index + part.length;
    isLastUnspaced = isPartUnspaced;
  }
  return found;
}

/** Finds the words and unspaced runs of a text, one with each `exec`; those of more than 10,000 characters in parts. */
export function wordPattern(): RegExp {
  return new RegExp(TOKEN);
}

/** True for a run of characters of a script that is written without spaces. */
export function isUnspaced(token: string): boolean {
  return UNSPACED_RUN.test(token);
}
