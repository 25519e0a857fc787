import { parseQuery } from "../../model/query.js";
import { joinResults, quoteField, quoteResult } from "../../model/quoted-results.js";
import { excerpt } from "../../model/snippet.js";
import { estimateStringTokens } from "../../model/tokens.js";

/** Estimated tokens of what is shown beside the best entry. */
const MAX_TOKENS = 2000;
/** Characters that are shown of an entry for which there is no more room. */
const EXCERPT_LENGTH = 600;

/** What a search found, best first, as the text that `AgentSearchProvider.search` describes; null for nothing. */
export function showEntries(found: readonly { key: string; content: string }[], query: string): string | null {
  const parsed = parseQuery(query);
  const texts: string[] = [];
  let room = MAX_TOKENS;
  for (const { key, content } of found) {
    const fits = (text: string) => texts.length === 0 || estimateStringTokens(text) <= room;
    const text = [content, excerpt(content, parsed, EXCERPT_LENGTH)]
      .map((shown) => quoteResult(quoteField(key), shown))
      .find(fits);
    if (text === undefined) break;
    if (texts.length > 0) room -= estimateStringTokens(text);
    texts.push(text);
  }
  return texts.length === 0 ? null : joinResults(texts, found.length - texts.length);
}
