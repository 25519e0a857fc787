import { StemmaError } from "../errors.js";
import { assertEncodable } from "../model/codec.js";
import { applyCompactions } from "../model/compactions.js";
import { digestMessage, digestRange } from "../model/digest.js";
import { isSummary, isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX } from "../model/message.js";
import { jsonBytes, takeRecent } from "../model/recent-messages.js";
import { searchableText } from "../model/text.js";
import { estimateMessageTokens } from "../model/tokens.js";
import { invalidRange, leafMoved, noCompaction, noMessage, noParent, staleRange } from "../model/tree-errors.js";
import { queueOf } from "../queue.js";
import type { CompactionGuard, NewCompaction, SearchHit, StoredCompaction, TreeNode } from "../storage/contract.js";
import { valuesIn } from "../storage/hand-over.js";
import type { SessionBackend, SessionProvider } from "./provider.js";
import type { ProviderSkillLog } from "./provider-skill-log.js";

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
  const message = async (id: string) => (await provider.getMessage(id)) ?? null;

  const compactions = async () => [...(await provider.getCompactions())];

  // The id of a summary stands for the last message under it.
  const named = async <Id extends string | null | undefined>(id: Id): Promise<Id | string> => {
    if (!id || !isSummaryMessage({ id })) return id;
    return (await compactions()).find((each) => SUMMARY_ID_PREFIX + each.id === id)?.toMessageId ?? id;
  };

  const history = async (given: string | null | undefined): Promise<SessionMessage[]> => {
    const leafId = await named(given ?? undefined);
    if (leafId !== undefined && (await message(leafId)) === null) throw noMessage(sessionId, leafId);
    return applyCompactions(await provider.getHistory(leafId), await compactions());
  };

  // A provider may lay its summaries over the messages itself.
  const stored = async (given: string | null | undefined): Promise<SessionMessage[]> => {
    const path = [...(await provider.getHistory(await named(given ?? undefined)))];
    if (!path.some(isSummaryMessage)) return path;
    const found: SessionMessage[] = [];
    for (const each of path) {
      if (isSummaryMessage(each)) found.push(...(await originals(each.id.slice(SUMMARY_ID_PREFIX.length))));
      else found.push(each);
    }
    return found;
  };

  const originals = async (compactionId: string): Promise<SessionMessage[]> => {
    const compaction = (await compactions()).find(({ id }) => id === compactionId);
    if (compaction === undefined) throw noCompaction(sessionId, compactionId);
    const path = await provider.getHistory(compaction.toMessageId);
    const from = path.findIndex(({ id }) => id === compaction.fromMessageId);
    return from < 0 ? [] : path.slice(from);
  };

  const read = (leafId: string | undefined, summaries = true) => (summaries ? history(leafId) : stored(leafId));

  // Only ids of compactions that are really this session's are passed over; others are refused as reserved.
  const withoutSummaries = async (messages: readonly SessionMessage[]): Promise<readonly SessionMessage[]> => {
    if (!messages.some(isSummary)) return messages;
    const ids = new Set((await compactions()).map(({ id }) => SUMMARY_ID_PREFIX + id));
    return messages.filter((each) => !isSummary(each) || !ids.has(each.id));
  };

  const parentOf = async (given: string): Promise<SessionMessage | null> => {
    const messageId = await named(given);
    if ((await message(messageId)) === null) throw noMessage(sessionId, messageId);
    return (await stored(messageId)).at(-2) ?? null;
  };

  const insert = async (given: SessionMessage, parent: string | null | undefined): Promise<boolean> => {
    if ((await message(given.id)) !== null) return false;
    const parentId = await named(parent);
    if (typeof parentId === "string" && (await message(parentId)) === null) throw noParent({ sessionId, parentId });
    // The provider may keep it; the caller is given the other one.
    const own = structuredClone(given);
    // Not every provider tells a missing argument from an undefined one.
    await (parentId === undefined ? provider.appendMessage(own) : provider.appendMessage(own, parentId));
    return true;
  };

  // What inserts nothing changes nothing wherever the leaf is.
  const assertLeaf = async (given: readonly SessionMessage[], expected: string | null): Promise<void> => {
    let isAnyNew = false;
    for (const { id } of given) isAnyNew ||= (await message(id)) === null;
    const leafId = (await provider.getLatestLeaf())?.id ?? null;
    if (isAnyNew && leafId !== (await named(expected))) throw leafMoved(sessionId, expected, leafId);
  };

  // Whether the range says what its summary was made of.
  const holds = async ({ fromMessageId, toMessageId }: NewCompaction, { leafId, digest }: CompactionGuard) => {
    if ((await message(await named(leafId))) === null) return false;
    const visible = await history(leafId);
    const from = visible.findIndex(({ id }) => id === fromMessageId);
    const to = visible.findIndex(({ id }) => id === toMessageId);
    return from >= 0 && digestRange(visible.slice(from, to + 1).map(digestMessage)) === digest;
  };

  return {
    id: sessionId,
    message: reading(message),
    path: reading(async ({ leafId, summaries } = {}) => ({ messages: await read(leafId, summaries), corrupt: [] })),
    stream: ({ leafId, newestFirst = false, summaries, after } = {}) => {
      const messages = async () => {
        const path = await read(leafId, summaries);
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
        return { ...recent, messages: applyCompactions(recent.messages, await compactions()) };
      }
      const { take, done } = takeRecent(maxBytes, minMessages);
      for (const each of (await history(leafId)).toReversed()) {
        if (!take(each, jsonBytes(each))) return done(true);
      }
      return done(false);
    }),
    rowStats: reading(async (leafId) => (await provider.getHistoryRowStats?.(leafId ?? null)) ?? null),
    leaf: reading(async () => (await provider.getLatestLeaf()) ?? null),
    branches: reading(async (given) => {
      const messageId = await named(given);
      if ((await message(messageId)) === null) throw noMessage(sessionId, messageId);
      return [...(await provider.getBranches(messageId))];
    }),
    parent: reading(parentOf),
    siblings: reading(async (messageId) => {
      const parent = await parentOf(messageId);
      if (parent === null) throw unsupported("cannot list the roots: ask for the siblings of another message");
      return [...(await provider.getBranches(parent.id))];
    }),
    length: reading(async (leafId) => provider.getPathLength(await named(leafId))),
    tokens: reading(async (leafId) =>
      (await history(leafId)).reduce((sum, each) => sum + estimateMessageTokens(each), 0),
    ),
    tree: reading(async () => treeOf(await provider.getHistory())),
    append: writing(async (given, parentId, { expectedLeaf } = {}) => {
      const valid = await withoutSummaries(given);
      // Before anything is written.
      for (const each of valid) assertEncodable(each);
      if (expectedLeaf !== undefined) await assertLeaf(valid, expectedLeaf);
      const messages = valid.map(skills.emptied);
      const insertedIds: string[] = [];
      let parent = parentId;
      for (const each of messages) {
        if (await insert(each, parent)) insertedIds.push(each.id);
        parent = each.id;
      }
      const [one] = messages;
      const isKnown = one !== undefined && messages.length === 1 && insertedIds.length === 0;
      const lastId = messages.at(-1)?.id ?? (await provider.getLatestLeaf())?.id ?? null;
      return { insertedIds, lastId, visibleTokens: null, stored: isKnown ? await message(one.id) : undefined };
    }),
    appendSibling: writing(async (siblingId, given) => {
      assertEncodable(given);
      const parent = await parentOf(siblingId);
      const inserted = await insert(skills.emptied(given), parent?.id ?? null);
      const stored = inserted ? undefined : await message(given.id);
      return { insertedIds: inserted ? [given.id] : [], lastId: given.id, visibleTokens: null, stored };
    }),
    upsert: writing(async (given, parentId) => {
      if ((await withoutSummaries([given])).length === 0) return { inserted: false, visibleTokens: null };
      assertEncodable(given);
      const shown = skills.emptied(given);
      const inserted = await insert(shown, parentId);
      if (!inserted) await provider.updateMessage(shown);
      return { inserted, visibleTokens: null };
    }),
    update: writing(async (given) => {
      assertEncodable(given);
      if ((await message(given.id)) === null) throw noMessage(sessionId, given.id);
      await provider.updateMessage(skills.emptied(given));
    }),
    delete: writing(async (ids) => {
      const known: string[] = [];
      for (const id of ids) if ((await message(id)) !== null) known.push(id);
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
    compactions: reading(compactions),
    addCompaction: writing(async (request, guard) => {
      const existing = await compactions();
      const { fromMessageId, toMessageId } = resolveEnds(request, existing);
      if (guard !== undefined && !(await holds(request, guard))) throw staleRange(sessionId);
      await assertRange(provider, sessionId, fromMessageId, toMessageId);
      await provider.addCompaction(request.summary, fromMessageId, toMessageId);
      const known = new Set(existing.map(({ id }) => id));
      const added = (await compactions()).find(({ id }) => !known.has(id));
      return (
        added ?? { id: "", summary: request.summary, fromMessageId, toMessageId, createdAt: new Date().toISOString() }
      );
    }),
    removeCompaction: async () => {
      throw unsupported("cannot take a summary back: remove it where the provider keeps it");
    },
    originals: reading(originals),
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

function unsupported(what: string): StemmaError {
  return new StemmaError("STORE_UNSUPPORTED", {}, `A SessionProvider ${what}.`);
}

function resolveEnds(request: NewCompaction, existing: readonly StoredCompaction[]) {
  const behind = (id: string) =>
    isSummaryMessage({ id }) ? existing.find((each) => SUMMARY_ID_PREFIX + each.id === id) : undefined;
  return {
    fromMessageId: behind(request.fromMessageId)?.fromMessageId ?? request.fromMessageId,
    toMessageId: behind(request.toMessageId)?.toMessageId ?? request.toMessageId,
  };
}

async function assertRange(provider: SessionProvider, sessionId: string, from: string, to: string): Promise<void> {
  const refuse = (why: string) => invalidRange(sessionId, { fromMessageId: from, toMessageId: to }, why);
  for (const id of [from, to]) {
    if (((await provider.getMessage(id)) ?? null) === null) throw refuse(`message "${id}" is not in this session`);
  }
  const path = await provider.getHistory(to);
  // A provider that applies compactions itself may show a summary in the place of the range's start.
  const shown = path.some(({ id }) => id === from || isSummaryMessage({ id }));
  if (!shown) throw refuse("the range is reversed, or its ends are not on one path");
}

function treeOf(path: readonly SessionMessage[]): TreeNode[] {
  return path.map((message, index) => ({
    id: message.id,
    parentId: path[index - 1]?.id ?? null,
    role: message.role,
    createdAt: message.createdAt === undefined ? "" : new Date(message.createdAt).toISOString(),
    preview: searchableText(message).slice(0, 80).toWellFormed(),
  }));
}
