import { z } from "zod";
import { quote } from "../errors.js";
import type { SearchHit } from "../storage/contract.js";
import { formatHits } from "./format-hits.js";
import { createTool, type SessionTool } from "./tool.js";

/** `session_search`: finds messages of every session. `search` gives the best hits first. */
export function createSessionSearchTool(search: (query: string) => Promise<readonly SearchHit[]>): SessionTool {
  return createTool({
    description:
      "Search past conversations, this one included, for messages that match. The best come first, each as a short excerpt with its session, message, sender and time.",
    inputSchema: z.object({ query: z.string().min(1).describe("Plain words. Not all of them need to occur.") }),
    async run({ query }) {
      const hits = await search(query);
      return hits.length === 0 ? `No message matches ${quote(query)}.` : formatHits(hits, query);
    },
  });
}
