import { tool } from "ai";
import type { Store } from "stemma";
import { z } from "zod";

/** Where the facts about a user are kept: they belong to no chat. */
const FACTS = { sessionId: "", scope: "user", label: "memory" } as const;

/** What is remembered of a user and holds now, by the key of each fact. */
export async function factsOf(store: Store, userId: string): Promise<Map<string, string>> {
  const facts = await store.forUser(userId).entries.list(FACTS);
  return new Map(facts.map(({ key, content }) => [key, content]));
}

/** Lets the model forget what a user asks it to. */
export function forgetTool(store: Store, userId: string) {
  return tool({
    description: "Forgets facts about the user. Only for what the user asks to forget.",
    inputSchema: z.object({ keys: z.array(z.string()).describe("Keys of facts, as search_context shows them.") }),
    execute: async ({ keys }) => {
      const { entries } = store.forUser(userId);
      for (const key of keys) await entries.delete(FACTS, key, { origin: { author: "model" } });
      return `Forgot ${keys.join(", ")}.`;
    },
  });
}
