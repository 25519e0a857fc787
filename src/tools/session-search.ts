import { quote } from "../errors.js";
import type { SearchHit } from "../storage/contract.js";
import { formatHits } from "./format-hits.js";
import { objectSchema, QUERY } from "./input-schema.js";
import { createTool, type SessionTool } from "./tool.js";

/** `session_search`: finds messages of every session. `search` gives the best hits first. */
export function createSessionSearchTool(search: (query: string) => Promise<readonly SearchHit[]>): SessionTool {
  return createTool({
    description:
      "Search past conversations, this one included, for messages that match. The best come first, each as a short excerpt with its session, message, sender and time.",
    input: objectSchema({ query: QUERY }, ["query"]),
    async run({ query }) {
      const hits = await search(query);
      return hits.length === 0 ? `No message matches ${quote(query)}.` : formatHits(hits, query);
    },
  });
}
