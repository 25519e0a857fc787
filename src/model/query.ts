import { perObject } from "../once.js";
import { cut } from "./cut.js";
import { normalText } from "./normal-text.js";
import { stopWordsOf } from "./stop-words.js";
import { isUnspaced, MAX_WORDS, tokenize } from "./words.js";

/** A query, taken apart: what the user typed holds no operators, only words. */
export interface SearchQuery {
  /** As the user typed it, as far as it counts: the first 16,384 characters. */
  readonly text: string;
  /** Words to look for, lower case, without stop-words unless there is nothing else; each once. */
  readonly words: readonly string[];
  /** Runs of characters of scripts that are written without spaces; each once. */
  readonly runs: readonly string[];
  /** Phrases the user put in quotation marks: the words and runs of each, in order. */
  readonly phrases: readonly (readonly string[])[];
}

const QUOTED = /"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」/gu;

/** Characters of a query that count. */
const MAX_LENGTH = 16_384;
/** Characters of a query in which quotation marks count: those that are never closed are looked for far. */
const MAX_QUOTING = 2_000;

/** Takes a query apart. Never throws; a query without a word gives one that finds nothing. */
export function parseQuery(query: string): SearchQuery {
  const text = cut(query, 0, MAX_LENGTH);
  const normal = normalText(text);
  const tokens = tokenize(normal);
  const words = new Set(tokens.filter((token) => !isUnspaced(token)).map((word) => word.toLowerCase()));
  const runs = new Set(tokens.filter((token) => isUnspaced(token)));
  const isStopWord = stopWordsOf(words);
  const content = [...words].filter((word) => !isStopWord(word));
  const phrases: string[][] = [];
  for (const match of normal.slice(0, MAX_QUOTING).matchAll(QUOTED)) {
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
