import { perObject } from "../lib/once.js";
import { boundary, cut } from "../messages/text.js";
import { querySequences, type SearchQuery } from "./query.js";
import { termOf } from "./terms.js";
import { isAscii, isUnspaced, normalText, originalRanges, type Range, wordPattern } from "./words.js";

/** Characters of a message that are shown of a search result. */
const SNIPPET_LENGTH = 240;

/**
 * At most 240 characters of a text around the words that match, each of which stands between « and » (these are not
 * counted); an ellipsis stands for what is left out at either end. The beginning where no word matches.
 */
export function markedSnippet(text: string, query: SearchQuery): string {
  return excerpt(text, query, SNIPPET_LENGTH, ["«", "»"]);
}

/** True for a text in which a word that a query looks for would be marked. */
export function holdsMatch(text: string, query: SearchQuery): boolean {
  return findMatches(text, query, SNIPPET_LENGTH).length > 0;
}

/** A piece of `text` of at most `length` characters in which most of what the query looks for occurs. */
export function excerpt(
  text: string,
  query: SearchQuery,
  length: number,
  [open, close]: readonly [string, string] = ["", ""],
): string {
  const matches = findMatches(text, query, length);
  const [start, end] = text.length <= length ? [0, text.length] : bestWindow(text, matches, length);
  let shown = start > 0 ? "…" : "";
  let at = start;
  for (const match of matches) {
    const [from, to] = [Math.max(match.start, start), Math.min(match.end, end)];
    if (from >= to) continue;
    shown += text.slice(at, from) + open + text.slice(from, to) + close;
    at = to;
  }
  return `${shown}${text.slice(at, end)}${end < text.length ? "…" : ""}`;
}

/** The first `length` characters of a text, with an ellipsis when there are more. */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : `${cut(text, 0, length)}…`;
}

// The window in which the most terms begin, then the most matches; the first one of equals. Some of what stands before is shown.
function bestWindow(text: string, matches: readonly Match[], length: number): [number, number] {
  let best = { start: 0, end: 0, worth: 0 };
  const counts = new Map<string, number>();
  let next = 0;
  for (const { start, term } of matches) {
    for (let match = matches[next]; match !== undefined && match.start < start + length; match = matches[next]) {
      counts.set(match.term, (counts.get(match.term) ?? 0) + 1);
      next += 1;
    }
    const within = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const worth = counts.size * matches.length + within;
    if (worth > best.worth) best = { start, end: Math.min((matches[next - 1] as Match).end, start + length), worth };
    const left = (counts.get(term) as number) - 1;
    if (left > 0) counts.set(term, left);
    else counts.delete(term);
  }
  const spare = length - (best.end - best.start);
  const lead = Math.min(Math.floor(spare / 2), Math.floor(length / 4));
  const start = Math.max(0, Math.min(best.start - lead, text.length - length));
  const end = Math.min(text.length, start + length);
  return [wordStart(text, start, best.start), wordEnd(text, end, best.end)];
}

/** How far the end of a piece is moved in, so that no word is cut in two. */
const LONG_WORD = 20;

export function wordStart(text: string, start: number, limit: number): number {
  if (start === 0) return 0;
  const space = text.slice(start - 1, Math.min(start + LONG_WORD, limit)).search(/\s/);
  return space < 0 ? boundary(text, start) : start + space;
}

function wordEnd(text: string, end: number, limit: number): number {
  if (end === text.length) return end;
  const from = Math.max(end - LONG_WORD, limit);
  const space = text.slice(from, end + 1).search(/\s\S*$/);
  return space < 0 ? boundary(text, end) : from + space;
}

/** A piece of a text that a query looks for. */
export interface Match extends Range {
  readonly term: string;
}

/** Characters of a long text in which every word is looked at; beyond them only the first place that may match. */
const LOOKED_AT = 100_000;

/**
 * The marked words of a query, and the words of a text of nothing but ASCII of which one may be a form of a term: of a word, its stem
 * has all but the last two letters, and the first one.
 */
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
  const plain = [...terms]
    .filter((term) => /^[\da-z]+$/.test(term))
    .map((term) => term.slice(0, Math.max(1, term.length - 2)));
  const beginning = plain.length === 0 ? "(?!)" : `(?:${plain.join("|")})`;
  return { terms, runs, plain: new RegExp(`(?<![\\dA-Za-z])${beginning}[\\dA-Za-z]*`, "gi") };
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
