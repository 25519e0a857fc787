import { stopWordsOf } from "./stop-words.js";

/** A query, taken apart: what the user typed holds no operators, only words. */
export interface SearchQuery {
  /** As the user typed it. */
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
// A loop without an end fails on a word of some million letters: the engine keeps each step, to go back.
const LOOP = "{1,1000}";
const TOKEN = new RegExp(`${UNSPACED}${LOOP}|[[${IN_WORDS}]--${UNSPACED}]${LOOP}`, "gv");
const BETWEEN_WORDS = new RegExp(`[^${IN_WORDS}]`, "v");
const UNSPACED_RUN = new RegExp(`^${UNSPACED}`, "v");
const HAS_UNSPACED = new RegExp(UNSPACED, "v");
const QUOTED = /"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」/gu;

/** More words, or sequences of them, do not make a query better, only slower. */
const MAX_TOKENS = 64;

/** Characters of a query in which quotation marks count: those that are never closed are looked for far. */
const MAX_QUOTING = 2_000;

/** Takes a query apart. Never throws; a query without a word gives one that finds nothing. */
export function parseQuery(text: string): SearchQuery {
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
const known = new WeakMap<SearchQuery, Sequences>();

function sequencesOf(query: SearchQuery): Sequences {
  const found = known.get(query);
  if (found !== undefined) return found;
  const plain = plainSequences(query);
  const quoted = query.phrases.map((phrase) =>
    phrase.flatMap((token) => (isUnspaced(token) ? Array.from(token) : [token])),
  );
  const sequences = { all: unique([...plain, ...quoted]).slice(0, MAX_TOKENS), quotedFrom: plain.length };
  known.set(query, sequences);
  return sequences;
}

function plainSequences(query: SearchQuery): string[][] {
  const sequences = query.words.map((word) => [word]);
  for (const run of query.runs) {
    const characters = Array.from(run).slice(0, MAX_TOKENS);
    sequences.push(characters);
    if (characters.length > 2) {
      sequences.push(...characters.slice(1).map((character, index) => [characters[index] as string, character]));
    }
  }
  return unique(sequences).slice(0, MAX_TOKENS);
}

function unique(sequences: readonly string[][]): string[][] {
  return [...new Map(sequences.map((sequence) => [sequence.join("\0"), sequence])).values()];
}

/** The words and unspaced runs of a text, in order; of a long text those at its start. */
export function tokenize(text: string): string[] {
  const found: string[] = [];
  for (const match of text.toWellFormed().matchAll(TOKEN)) {
    found.push(match[0]);
    if (found.length === MAX_TOKENS) break;
  }
  return found;
}

/** All words of a text, in order, each character of an unspaced script by itself. */
export function words(text: string): string[] {
  const pieces = isAscii(text) ? text.split(/[^\dA-Za-z]/) : text.toWellFormed().split(BETWEEN_WORDS);
  return pieces.filter(Boolean).flatMap((piece) => (HAS_UNSPACED.test(piece) ? apart(piece) : piece));
}

function apart(piece: string): string[] {
  return (piece.match(TOKEN) ?? []).flatMap((token) => (isUnspaced(token) ? Array.from(token) : token));
}

/** True for a text of nothing but ASCII. */
export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/** Finds the words and unspaced runs of a text, one with each `exec`. */
export function wordPattern(): RegExp {
  return new RegExp(TOKEN);
}

/** True for a run of characters of a script that is written without spaces. */
export function isUnspaced(token: string): boolean {
  return UNSPACED_RUN.test(token);
}
