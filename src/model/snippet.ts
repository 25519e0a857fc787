import { boundary, cut } from "./cut.js";
import type { SearchQuery } from "./query.js";
import { findMatches, type Match } from "./query-matches.js";

/** Characters of a message that are shown of a search result. */
const SNIPPET_LENGTH = 240;

/**
 * At most 240 characters of a text around the words that match, each of which stands between « and » (these are not
 * counted); an ellipsis stands for what is left out at either end. The beginning where no word matches.
 */
export function markedSnippet(text: string, query: SearchQuery): string {
  return excerpt(text, query, SNIPPET_LENGTH, ["«", "»"]);
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

function wordStart(text: string, start: number, limit: number): number {
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
