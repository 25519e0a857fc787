import { StemmaError } from "../errors.js";
import { applyCompactions } from "../model/compactions.js";
import { cut } from "../model/cut.js";
import type { SessionMessage } from "../model/message.js";
import { jsonBytes, takeRecent } from "../model/recent-messages.js";
import { searchableText } from "../model/text.js";
import { estimateMessageTokens } from "../model/tokens.js";
import { noMessage } from "../model/tree-errors.js";
import { queueOf } from "../queue.js";
import type { ReadOptions, SearchHit, TreeNode } from "../storage/contract.js";
import { valuesIn } from "../storage/hand-over.js";
import type { SessionBackend, SessionProvider } from "./provider.js";
import { ProviderReader } from "./provider-reader.js";
import type { ProviderSkillLog } from "./provider-skill-log.js";
import { addSummary } from "./provider-summaries.js";
import { ProviderWriter } from "./provider-writer.js";

/**
 * A session kept by a provider that a user wrote, with the documented methods only. What those methods cannot do by
 * themselves is done in several calls, and is no more atomic than they are. Within a process each call of ours is one
 * turn: those that read run together, one that writes is alone, in the order in which they were made.
 */
export function providerBackend(
  provider: SessionProvider,
  sessionId: string,
  skills: Pick<ProviderSkillLog, "emptied" | "clear">,
): SessionBackend {
  const queue = queueOf(provider);
  const reading =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      queue.read("", () => read(...args));
  const writing =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      queue.write("", () => write(...args));

  // Within a turn, nothing below waits for another one.
  const reader = new ProviderReader(provider, sessionId);
  const writer = new ProviderWriter(provider, reader, sessionId, skills);

  const read = ({ leafId, summaries = true, createdAt }: ReadOptions) =>
    summaries ? reader.history(leafId, { createdAt }) : reader.stored(leafId, { createdAt });

  const siblingsOf = async (messageId: string): Promise<SessionMessage[]> => {
    const parent = await reader.parentOf(messageId);
    if (parent === null) throw unsupported("cannot list the roots: ask for the siblings of another message");
    return [...(await provider.getBranches(parent.id))];
  };

  return {
    id: sessionId,
    message: reading((id, options) => reader.message(id, options)),
    path: reading(async (options = {}) => ({ messages: await read(options), corrupt: [] })),
    stream: ({ newestFirst = false, after, ...options } = {}) => {
      const messages = async () => {
        const path = await read(options);
        const ordered = newestFirst ? path.reverse() : path;
        const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
        if (after !== undefined && start === 0) throw noMessage(sessionId, after);
        return ordered.slice(start);
      };
      return valuesIn(queue.read("", messages));
    },
    recent: reading(async (maxBytes, { minMessages, leafId }) => {
      if (provider.getRecentHistory !== undefined) {
        const recent = await provider.getRecentHistory(leafId ?? null, maxBytes, minMessages);
        return { ...recent, messages: applyCompactions(recent.messages, await reader.compactions()) };
      }
      const { take, done } = takeRecent(maxBytes, minMessages);
      for (const each of (await reader.history(leafId)).toReversed()) {
        if (!take(each, jsonBytes(each))) return done(true);
      }
      return done(false);
    }),
    rowStats: reading(async (leafId) => (await provider.getHistoryRowStats?.(leafId ?? null)) ?? null),
    leaf: reading(async () => (await provider.getLatestLeaf()) ?? null),
    branches: reading(async (given) => [...(await provider.getBranches(await reader.known(given)))]),
    parent: reading((messageId) => reader.parentOf(messageId)),
    branchIds: reading(async (given) => idsOf(await provider.getBranches(await reader.known(given)))),
    siblings: reading(siblingsOf),
    siblingIds: reading(async (ids) => {
      const siblings: Record<string, string[]> = {};
      for (const id of ids) if ((await reader.message(id)) !== null) siblings[id] = idsOf(await siblingsOf(id));
      return siblings;
    }),
    length: reading(async (leafId) => provider.getPathLength(await reader.named(leafId))),
    tokens: reading(async (leafId) =>
      (await reader.history(leafId)).reduce((sum, each) => sum + estimateMessageTokens(each), 0),
    ),
    tree: reading(async () => treeOf(await provider.getHistory())),
    append: writing((given, parentId, { expectedLeaf } = {}) => writer.append(given, parentId, expectedLeaf)),
    appendSibling: writing((siblingId, given) => writer.appendSibling(siblingId, given)),
    upsert: writing(async (given, parentId) => ({
      inserted: await writer.upsert(given, parentId),
      visibleTokens: null,
    })),
    update: writing((given) => writer.update(given)),
    delete: writing(async (ids) => {
      const known: string[] = [];
      for (const id of ids) if ((await reader.message(id)) !== null) known.push(id);
      if (known.length > 0) await provider.deleteMessages(known);
      return known;
    }),
    clear: writing(async () => {
      await provider.clearMessages();
      skills.clear();
      return false;
    }),
    setActiveLeaf: async () => {
      throw unsupported("cannot store an active leaf: name the parentId when you append");
    },
    rewindTo: async () => {
      throw unsupported("cannot store an active leaf, nor blocks: name the parentId when you append");
    },
    selectBranch: async () => {
      throw unsupported("cannot store an active leaf: name the leafId when you read, and the parentId when you append");
    },
    compactions: reading(() => reader.compactions()),
    addCompaction: writing((request, guard) => addSummary(provider, reader, sessionId, request, guard)),
    removeCompaction: async () => {
      throw unsupported("cannot take a summary back: remove it where the provider keeps it");
    },
    originals: reading((compactionId) => reader.originals(compactionId)),
    search: reading(async (query, { limit, offset = 0, ...filters }) => {
      if (provider.searchMessages === undefined) {
        throw new StemmaError("SEARCH_UNAVAILABLE", {}, "This session's provider has no searchMessages().");
      }
      const unknown = Object.entries(filters).find(([, value]) => value !== undefined && value !== 0)?.[0];
      if (unknown !== undefined) {
        const text = `This session's provider searches by words alone: leave out ${unknown}, or keep the session in a store.`;
        throw new StemmaError("SEARCH_UNAVAILABLE", { option: unknown }, text);
      }
      return (await provider.searchMessages(query, offset + limit)).slice(offset) as SearchHit[];
    }),
  };
}

const idsOf = (messages: readonly SessionMessage[]): string[] => messages.map(({ id }) => id);

function unsupported(what: string): StemmaError {
  return new StemmaError("STORE_UNSUPPORTED", {}, `A SessionProvider ${what}.`);
}

function treeOf(path: readonly SessionMessage[]): TreeNode[] {
  return path.map((message, index) => ({
    id: message.id,
    parentId: path[index - 1]?.id ?? null,
    role: message.role,
    createdAt: message.createdAt === undefined ? "" : new Date(message.createdAt).toISOString(),
    preview: cut(searchableText(message), 0, 80).toWellFormed(),
  }));
}
