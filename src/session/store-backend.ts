import { encodeMessage } from "../model/codec.js";
import { isSummary, type SessionMessage } from "../model/message.js";
import { parseQuery } from "../model/query.js";
import { assertStorableText } from "../model/text.js";
import type { Store } from "../storage/contract.js";
import { assertSessionId } from "../storage/session-id.js";
import type { CompactionRequest, HistoryOptions, SessionBackend } from "./provider.js";

/** A session kept in a store. */
export function storeBackend(store: Store, sessionId: string): SessionBackend {
  assertSessionId(sessionId);
  const append = async (
    messages: readonly SessionMessage[],
    parentId: string | null | undefined,
    summaries?: readonly SessionMessage[],
  ) => {
    const options = summaries && { summaryIds: summaries.map(({ id }) => id) };
    const result = await store.messages.append(sessionId, messages.map(encodeMessage), parentId, options);
    const insertedIds = messages.filter((_, index) => result.inserted[index]).map(({ id }) => id);
    return { ...result, insertedIds };
  };
  return {
    sessionId,
    ready: () => store.migrate(),
    message: (id) => store.history.message(sessionId, id),
    history: async (leafId, onCorrupt) => {
      const { options, label } = lenient({ leafId, onCorrupt });
      return label(await store.history.path(sessionId, options));
    },
    stream: (options) =>
      store.history.stream(sessionId, { ...lenient(options).options, newestFirst: options.newestFirst }),
    recent: (maxBytes, minMessages) => store.history.recent(sessionId, maxBytes, { minMessages }),
    rowStats: () => store.history.rowStats(sessionId),
    leaf: () => store.history.leaf(sessionId),
    branches: (messageId) => store.history.branches(sessionId, messageId),
    pathLength: (leafId) => store.history.length(sessionId, leafId),
    visibleTokens: () => store.history.tokens(sessionId),
    tree: () => store.history.tree(sessionId),
    append: async (messages, parentId) => {
      if (messages.some(isSummary))
        return append(
          messages.filter((each) => !isSummary(each)),
          parentId,
          messages.filter(isSummary),
        );
      return append(messages, parentId);
    },
    upsert: async (message, parentId) => {
      if (!isSummary(message)) return store.messages.upsert(sessionId, encodeMessage(message), parentId);
      await append([], undefined, [message]);
      return { inserted: false, visibleTokens: null };
    },
    update: async (message) => store.messages.update(sessionId, encodeMessage(message)),
    delete: (ids) => store.messages.delete(sessionId, ids),
    clear: () => store.messages.clear(sessionId),
    setActiveLeaf: (id) => store.messages.setActiveLeaf(sessionId, id),
    compactions: () => store.compactions.list(sessionId),
    addCompaction: async ({ summary, fromMessageId, toMessageId, expect }: CompactionRequest) => {
      assertStorableText(summary, "A summary");
      const overlay = { id: crypto.randomUUID(), summary, fromMessageId, toMessageId };
      return store.compactions.add(sessionId, overlay, expect);
    },
    originals: (compactionId) => store.compactions.originals(sessionId, compactionId),
    search: (query, request) => store.history.search(parseQuery(query), { ...request, sessionId }),
  };
}

/** What a store can keep of a rendered prompt: what blocks of other providers hold is not checked when it is written. */
export function storablePrompt(prompt: string): string {
  return prompt.replaceAll("\0", "").toWellFormed();
}

// Collects what a lenient read leaves out, and hangs the list on the history.
function lenient(options: HistoryOptions) {
  const corrupt: string[] = [];
  const skip = options.onCorrupt === "skip";
  return {
    options: {
      leafId: options.leafId ?? undefined,
      onCorrupt: skip ? ({ id }: { id: string }) => corrupt.push(id) : undefined,
    },
    label: (messages: SessionMessage[]): SessionMessage[] =>
      skip ? Object.defineProperty(messages, "corrupt", { value: corrupt }) : messages,
  };
}
