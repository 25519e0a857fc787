import { perObject } from "../once.js";
import { isAscii, normalText, originalRanges, type Range } from "./normal-text.js";
import { querySequences, type SearchQuery } from "./query.js";
import { termOf } from "./terms.js";
import { isUnspaced, wordPattern } from "./words.js";

/** A piece of a text that a query looks for. */
export interface Match extends Range {
  /** What of the query it matches. */
  readonly term: string;
}

/** Characters of a long text in which every word is looked at; beyond them only the first place that may match. */
const LOOKED_AT = 100_000;

/** What of a query is marked, and the words of a text of nothing but ASCII of which one may be a form of a term: forms differ at the end. */
interface Marked {
  readonly terms: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
  readonly plain: RegExp;
}

// Each result is marked anew.
const markedOf = perObject((query: SearchQuery): Marked => {
  const terms = new Set<string>();
  const runs = new Set<string>();
  for (const sequence of querySequences(query)) {
    if (isUnspaced(sequence[0] ?? "")) runs.add(sequence.join(""));
    else if (sequence.length === 1) terms.add(termOf(sequence[0] as string));
  }
  const first = [...terms].map((term) => term.charAt(0)).filter((letter) => /[\da-z]/.test(letter));
  return { terms, runs, plain: new RegExp(`(?<![\\dA-Za-z])[${first.join("")}][\\dA-Za-z]*`, "gi") };
});

/**
 * The matches of a text, in order, none overlapping another. Where the beginning of a long text has none, only `length` characters
 * are looked at: those from the first place on that may match.
 */
export function findMatches(text: string, query: SearchQuery, length: number): Match[] {
  const marked = markedOf(query);
  const { terms, runs } = marked;
  if (terms.size === 0 && runs.size === 0) return [];
  const normal = normalText(text);
  const matches = matchesWithin(normal, 0, LOOKED_AT, marked);
  if (matches.length > 0 || normal.length <= LOOKED_AT) return inOriginal(text, normal, matches);
  const far = farMatch(normal, terms, runs);
  return far === null ? [] : inOriginal(text, normal, matchesWithin(normal, far, far + length, marked));
}

// Several matches may lie in one character of the text: "株" and "社" in "㍿".
function inOriginal(text: string, normal: string, matches: Match[]): Match[] {
  if (normal === text) return matches;
  const rangeOf = originalRanges(text);
  const found: Match[] = [];
  for (const match of matches) {
    const range = rangeOf(match);
    if (range.start >= (found.at(-1)?.end ?? 0)) found.push({ ...range, term: match.term });
  }
  return found;
}

function matchesWithin(text: string, from: number, to: number, { terms, runs, plain }: Marked): Match[] {
  const matches: Match[] = [];
  const known = new Map<string, string | null>();
  const pattern = isAscii(text) ? plain : wordPattern();
  pattern.lastIndex = from;
  for (let found = pattern.exec(text); found !== null && found.index < to; found = pattern.exec(text)) {
    const word = found[0];
    if (isUnspaced(word)) {
      for (const match of matchesInRun(word, found.index, runs)) matches.push(match);
      continue;
    }
    let term = known.get(word);
    if (term === undefined) {
      const own = termOf(word);
      term = terms.has(own) ? own : null;
      known.set(word, term);
    }
    if (term !== null) matches.push({ start: found.index, end: found.index + word.length, term });
  }
  return matches;
}

// Pieces of an unspaced run that the query looks for; those that touch are one match, as long as they can be.
function matchesInRun(run: string, offset: number, runs: ReadonlySet<string>): Match[] {
  const found: Match[] = [];
  for (const term of runs) {
    for (let at = run.indexOf(term); at >= 0; at = run.indexOf(term, at + term.length)) {
      found.push({ start: offset + at, end: offset + at + term.length, term });
    }
  }
  const matches: Match[] = [];
  for (const place of found.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = matches.at(-1);
    if (last === undefined || place.start > last.end) matches.push(place);
    else if (place.end > last.end) matches[matches.length - 1] = { ...last, end: place.end };
  }
  return matches;
}

// Where in a long text a word begins as one of the terms does: its forms differ at the end.
function farMatch(text: string, terms: ReadonlySet<string>, runs: ReadonlySet<string>): number | null {
  const starts = [...terms].map((term) =>
    Array.from(term)
      .slice(0, Math.max(2, term.length - 2))
      .join(""),
  );
  const pattern = [...starts, ...runs].map((start) => start.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|");
  const found = text.slice(LOOKED_AT).search(new RegExp(pattern, "i"));
  return found < 0 ? null : LOOKED_AT + found;
}
