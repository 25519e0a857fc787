import { assertStorableText } from "../../model/text.js";
import type { BlockKey, BlockStore } from "../../storage/contract.js";
import type { WritableContextProvider } from "../provider.js";

/** Keeps a session's frozen prompt in its store, where no block can take its place. */
export function createPromptStore(blocks: BlockStore, sessionId: string): WritableContextProvider {
  const key: BlockKey = { sessionId, kind: "prompt", label: "" };
  return {
    get: async () => (await blocks.get(key))?.content ?? null,
    async set(prompt, options) {
      assertStorableText(prompt, "The system prompt");
      await blocks.set(key, prompt, options);
    },
  };
}
