import type { FoundHit, SearchResults } from "../api.js";
import { findNames, findSession, read, type StudioCall } from "../route.js";

const USUAL_HITS = 20;
const MOST_HITS = 100;
/** Ranking goes as deep as the page that is asked for. */
const DEEPEST = 10_000;

export const searchRoutes = [read("search", search)];

async function search({ store, fields, signal }: StudioCall): Promise<SearchResults> {
  const limit = fields.limit(USUAL_HITS, MOST_HITS);
  const offset = Math.min(fields.optionalWhole("offset") ?? 0, DEEPEST);
  const sessionId = fields.optionalText("session");
  if (sessionId !== undefined) await findSession(store, sessionId);
  const found = await store.search(fields.text("q"), {
    limit: limit + 1,
    offset,
    sessionId,
    userId: fields.optionalText("user"),
    role: fields.optionalText("role"),
    after: fields.optionalTime("after"),
    before: fields.optionalTime("before"),
    explain: true,
    signal,
  });
  const shown = found.slice(0, limit);
  const names = await findNames(
    store,
    shown.map((hit) => hit.sessionId),
  );
  return {
    hits: shown.map(({ explanation, ...hit }): FoundHit => {
      const { words = [], ranks = { words: null, meaning: null }, reranker = null } = explanation ?? {};
      return { ...hit, sessionName: names.get(hit.sessionId) ?? "", words, ranks, reranker };
    }),
    nextOffset: found.length > limit && offset + limit <= DEEPEST ? offset + limit : null,
  };
}
