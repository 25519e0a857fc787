import {
  estimateStringTokens,
  excerpt,
  joinResults,
  parseQuery,
  quoteField,
  quoteResult,
  quoteWord,
  sendableText,
  shorten,
} from "@stemma/model";
import type { SearchHit } from "@stemma/store";

/** Characters of each message that are shown. */
const SNIPPET_LENGTH = 300;
/** Estimated tokens of all of them together, with what tells where they stand. */
const MAX_TOKENS = 2000;

/**
 * Hits as text for a model: for each its session id, message id, role, sender and time, and an excerpt around the words of
 * `query`. No text of a message can pass for another hit. Never a whole long message; the hits that do not fit 2,000 estimated tokens are left out, and counted.
 */
export function formatHits(hits: readonly SearchHit[], query = ""): string {
  const texts: string[] = [];
  let tokens = 0;
  for (const hit of hits) {
    const text = formatHit(hit, query);
    tokens += estimateStringTokens(text);
    if (tokens > MAX_TOKENS) break;
    texts.push(text);
  }
  return joinResults(texts, hits.length - texts.length);
}

/** One hit as `formatHits` shows it. */
export function formatHit(hit: SearchHit, query: string): string {
  const id = (text: string) => quoteField(shorten(text));
  const sender = quoteWord(shorten(hit.role)) + (hit.name === undefined ? "" : ` ${id(hit.name)}`);
  const head = `session ${id(hit.sessionId)} · message ${id(hit.id)} · ${sender} · ${id(hit.createdAt)}`;
  return sendableText(quoteResult(head, snippet(hit.content, query, SNIPPET_LENGTH)));
}

export { beginning, cut } from "@stemma/model";

/** A piece of `text` of at most `length` characters in which most of what `query` looks for occurs. */
export function snippet(text: string, query: string, length: number): string {
  return excerpt(text, parseQuery(query), length);
}
