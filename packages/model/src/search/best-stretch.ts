import { CHARS_PER_TOKEN } from "../messages/tokens.js";
import type { SearchQuery } from "./query.js";
import type { SearchExplanation } from "./score-fusion.js";
import { findMatches, markedSnippet, wordStart } from "./snippet.js";
import { termOf } from "./terms.js";
import { isUnspaced, type Range } from "./words.js";

/** Estimated tokens of a stretch, and of the steps in which it is looked for; a text that is hardly longer is one. */
const STRETCH = 120;
const STEP = 30;
const WHOLE = 140;
const STEPS = STRETCH / STEP;

/**
 * The stretch of about 120 tokens of a text that holds most of what the query looks for: each word counts once, as much as it
 * counts for the rank of the text (`explained`), or all the same where that is not known. The whole text up to 140 tokens; the
 * first stretch where no word matches; of equals the middle of those that touch.
 */
export function bestStretch(text: string, query: SearchQuery, explained: SearchExplanation["words"] = []): Range {
  const starts = stepsOf(text);
  if (starts.length <= STEPS) return { start: 0, end: text.length };
  const worth = new Map(explained.map(({ word, score }) => [termOfWord(word), score]));
  const found = starts.map(() => new Set<string>());
  let step = 0;
  for (const { start, term } of findMatches(text, query, STRETCH * CHARS_PER_TOKEN)) {
    while (start >= (starts[step + 1] ?? text.length)) step += 1;
    found[step]?.add(term);
  }
  const terms = [...new Set(found.flatMap((each) => [...each]))];
  let [most, first, last] = [-1, 0, 0];
  for (let at = 0; at + STEPS <= starts.length; at += 1) {
    const within = found.slice(at, at + STEPS);
    let sum = 0;
    for (const term of terms) if (within.some((each) => each.has(term))) sum += worth.get(term) ?? 1;
    if (sum > most) [most, first, last] = [sum, at, at];
    else if (sum === most && sum > 0 && at === last + 1) last = at;
  }
  const at = (first + last) >> 1;
  return { start: starts[at] ?? 0, end: starts[at + STEPS] ?? text.length };
}

/** The snippet of a text that is cut from one stretch of it; an ellipsis stands for what is left out. */
export function snippetOfStretch(text: string, { start, end }: Range, query: SearchQuery): string {
  const snippet = markedSnippet(text.slice(start, end), query);
  const before = start > 0 && !snippet.startsWith("…") ? "…" : "";
  const behind = end < text.length && !snippet.endsWith("…") ? "…" : "";
  return before + snippet + behind;
}

// As a match calls it: a word by its stem, an unspaced run as it stands.
function termOfWord(word: string): string {
  return isUnspaced(word) ? word.replaceAll(" ", "") : termOf(word);
}

/** Where the steps of a text begin, at words. A last one of a few tokens is part of the one before. */
function stepsOf(text: string): number[] {
  const starts = [0];
  let tokens = 0;
  for (let index = 0; index < text.length; index += 1) {
    // Of Chinese, Japanese and Korean each character is a token.
    tokens += text.charCodeAt(index) < 0x2e80 ? 1 / CHARS_PER_TOKEN : 1;
    if (tokens < STEP) continue;
    const start = wordStart(text, index + 1, text.length);
    starts.push(start);
    index = Math.max(index, start - 1);
    tokens = 0;
  }
  if (starts.length > 1 && tokens <= WHOLE - STRETCH) starts.pop();
  return starts;
}
