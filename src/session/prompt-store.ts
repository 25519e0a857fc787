import type { PromptStore } from "../context/prompt-keeper.js";
import { isWritable } from "../context/provider.js";
import { invalid, StemmaError } from "../errors.js";
import { storableText } from "../model/storable-text.js";
import { promptKey, type Store } from "../storage/contract.js";
import type { SessionConfig } from "./options.js";

/** Where a session keeps its frozen prompt; null for in memory. Errors: `PROVIDER_REQUIRED`, `INVALID_ARGUMENT`. */
export function promptStoreFor(
  cachedPrompt: SessionConfig["cachedPrompt"],
  store: Store | null,
  sessionId: string,
): PromptStore | null {
  if (cachedPrompt === false) return null;
  if (cachedPrompt === true) {
    if (store !== null) return storedPrompt(store, sessionId);
    const message = "This session has no store for the frozen prompt: call withCachedPrompt(provider).";
    throw new StemmaError("PROVIDER_REQUIRED", {}, message);
  }
  const bound = cachedPrompt.forSession?.(sessionId) ?? cachedPrompt;
  if (isWritable(bound)) return bound;
  throw invalid("withCachedPrompt() takes a provider with get() and set().");
}

function storedPrompt(store: Store, sessionId: string): PromptStore {
  const key = promptKey(sessionId);
  return {
    get: async () => (await store.blocks.get(key))?.content ?? null,
    // What blocks of other providers hold is not checked when it is written.
    set: (content, options) => store.blocks.set(key, storableText(content), options),
    drop: () => store.blocks.delete(key),
    stored: (prompt) => store.redaction?.text(storableText(prompt), { kind: "prompt", sessionId, label: "" }) ?? prompt,
  };
}
