import {
  applyCompactions,
  assertEncodable,
  createLoadFinder,
  cut,
  digestMessage,
  digestRange,
  estimateMessageTokens,
  foldLabel,
  forEachYielding,
  givenMessage,
  inPieces,
  invalidRange,
  isSummary,
  isSummaryMessage,
  jsonBytes,
  type LoadFinder,
  leafMoved,
  mapped,
  noMessage,
  noParent,
  queueOf,
  type SessionMessage,
  StemmaError,
  SUMMARY_ID_PREFIX,
  searchableText,
  staleRange,
  takeRecent,
} from "@stemma/model";
import type {
  AppendResult,
  CompactionGuard,
  NewCompaction,
  ParentRef,
  ReadOptions,
  SearchHit,
  SessionStore,
  StoredCompaction,
  TreeNode,
} from "@stemma/store";
import { valuesIn } from "@stemma/store";
import type { SkillLog } from "../../tools/tool.js";
import type { SessionBackend, SessionProvider } from "./provider.js";
import type { ProviderSkillLog } from "./provider-reader.js";
import { ProviderReader, summaryBehind } from "./provider-reader.js";
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

/** Has a provider lay a summary over a range. Errors: `COMPACTION_INVALID_RANGE`; `COMPACTION_STALE` where `guard` does not hold. */
async function addSummary(
  provider: SessionProvider,
  reader: ProviderReader,
  sessionId: string,
  request: NewCompaction,
  guard: CompactionGuard | undefined,
): Promise<StoredCompaction> {
  const existing = await reader.compactions();
  const { summary } = request;
  // An end may be a summary: then its own range is meant.
  const fromMessageId = summaryBehind(request.fromMessageId, existing)?.fromMessageId ?? request.fromMessageId;
  const toMessageId = summaryBehind(request.toMessageId, existing)?.toMessageId ?? request.toMessageId;
  if (guard !== undefined && !(await holds(reader, request, guard))) throw staleRange(sessionId);
  const refuse = (why: string) => invalidRange(sessionId, { fromMessageId, toMessageId }, why);
  for (const id of [fromMessageId, toMessageId]) {
    if ((await reader.message(id)) === null) throw refuse(`message "${id}" is not in this session`);
  }
  const path = await provider.getHistory(toMessageId);
  // A provider that applies compactions itself may show a summary in the place of the range's start.
  const isShown = path.some(({ id }) => id === fromMessageId || isSummaryMessage({ id }));
  if (!isShown) throw refuse("the range is reversed, or its ends are not on one path");
  await provider.addCompaction(summary, fromMessageId, toMessageId);
  const known = new Set(existing.map(({ id }) => id));
  const added = (await reader.compactions()).find(({ id }) => !known.has(id));
  return added ?? { id: "", summary, fromMessageId, toMessageId, createdAt: new Date().toISOString() };
}

// Whether the range says what its summary was made of.
async function holds(
  reader: ProviderReader,
  { fromMessageId, toMessageId }: NewCompaction,
  { leafId, digest }: CompactionGuard,
): Promise<boolean> {
  if ((await reader.message(await reader.named(leafId))) === null) return false;
  const visible = await reader.history(leafId);
  const from = visible.findIndex(({ id }) => id === fromMessageId);
  const to = visible.findIndex(({ id }) => id === toMessageId);
  return from >= 0 && digestRange(visible.slice(from, to + 1).map(digestMessage)) === digest;
}

/** Writes messages to a provider that a user wrote. Each is checked before anything is written. */
class ProviderWriter {
  constructor(
    private readonly provider: SessionProvider,
    private readonly reader: ProviderReader,
    private readonly sessionId: string,
    private readonly skills: Pick<ProviderSkillLog, "emptied">,
  ) {}

  async append(
    given: readonly SessionMessage[],
    parentId: ParentRef,
    expectedLeaf: string | null | undefined,
  ): Promise<AppendResult> {
    const valid = await this.#withoutSummaries(await inPieces(mapped(given, givenMessage)));
    await forEachYielding(valid, assertEncodable);
    if (expectedLeaf !== undefined) await this.#assertLeaf(valid, expectedLeaf);
    const messages = valid.map(this.skills.emptied);
    const insertedIds: string[] = [];
    let parent = parentId;
    for (const each of messages) {
      if (await this.#insert(each, parent)) insertedIds.push(each.id);
      parent = each.id;
    }
    const [one] = messages;
    const isKnown = one !== undefined && messages.length === 1 && insertedIds.length === 0;
    const lastId = messages.at(-1)?.id ?? (await this.provider.getLatestLeaf())?.id ?? null;
    const stored = isKnown ? await this.reader.message(one.id) : undefined;
    return { insertedIds, lastId, visibleTokens: null, stored };
  }

  async appendSibling(siblingId: string, given: SessionMessage): Promise<AppendResult> {
    assertEncodable(given);
    const parent = await this.reader.parentOf(siblingId);
    const inserted = await this.#insert(this.skills.emptied(given), parent?.id ?? null);
    const stored = inserted ? undefined : await this.reader.message(given.id);
    return { insertedIds: inserted ? [given.id] : [], lastId: given.id, visibleTokens: null, stored };
  }

  /** Resolves to whether the message was inserted. */
  async upsert(given: SessionMessage, parentId: ParentRef): Promise<boolean> {
    if ((await this.#withoutSummaries([given])).length === 0) return false;
    assertEncodable(given);
    const shown = this.skills.emptied(given);
    const inserted = await this.#insert(shown, parentId);
    if (!inserted) await this.provider.updateMessage(shown);
    return inserted;
  }

  async update(given: SessionMessage): Promise<void> {
    if ((await this.#withoutSummaries([given])).length === 0) return;
    assertEncodable(given);
    await this.reader.known(given.id);
    await this.provider.updateMessage(this.skills.emptied(given));
  }

  async #insert(given: SessionMessage, parent: ParentRef): Promise<boolean> {
    const { provider, reader, sessionId } = this;
    if ((await reader.message(given.id)) !== null) return false;
    const parentId = await reader.named(parent);
    const isMissing = typeof parentId === "string" && (await reader.message(parentId)) === null;
    if (isMissing) throw noParent({ sessionId, parentId });
    // The provider may keep it; the caller is given the other one.
    const own = structuredClone(given);
    // Not every provider tells a missing argument from an undefined one.
    await (parentId === undefined ? provider.appendMessage(own) : provider.appendMessage(own, parentId));
    return true;
  }

  // Only ids of compactions that are really this session's are passed over; others are refused as reserved.
  async #withoutSummaries(messages: readonly SessionMessage[]): Promise<readonly SessionMessage[]> {
    if (!messages.some(isSummary)) return messages;
    const ids = new Set((await this.reader.compactions()).map(({ id }) => SUMMARY_ID_PREFIX + id));
    return messages.filter((each) => !isSummary(each) || !ids.has(each.id));
  }

  // What inserts nothing changes nothing wherever the leaf is.
  async #assertLeaf(given: readonly SessionMessage[], expected: string | null): Promise<void> {
    let isAnyNew = false;
    for (const { id } of given) isAnyNew ||= (await this.reader.message(id)) === null;
    const leafId = (await this.provider.getLatestLeaf())?.id ?? null;
    if (isAnyNew && leafId !== (await this.reader.named(expected))) throw leafMoved(this.sessionId, expected, leafId);
  }
}

/** Keeps in the store which skills a session loaded and unloaded, so that a restart sees the same history. */
export function storeSkillLog(session: SessionStore): SkillLog {
  const loadsInMessages = async (): Promise<LoadFinder> => {
    const messages = session.stream({ newestFirst: true, onCorrupt: "skip" });
    const finder = createLoadFinder();
    for await (const message of messages) finder.look(message);
    return finder;
  };
  return {
    load: async (label, key, toolCallId) => {
      await session.changeSkills({ type: "load", label, key, toolCallId });
    },
    loaded: async () => {
      const { loaded } = await session.skills();
      const { loads } = await loadsInMessages();
      const recorded = new Set(loaded.map(keyOf));
      return [...loads.filter((load) => !recorded.has(keyOf(load))).reverse(), ...loaded];
    },
    unload: async (label, key) => {
      if (await session.changeSkills({ type: "unload", label, key })) return true;
      // Nobody recorded the loads of an upgraded or imported session, but its messages hold them.
      const toolCallIds = (await loadsInMessages()).callsOf(label, key);
      return toolCallIds.length > 0 && session.changeSkills({ type: "unload", label, key, toolCallIds });
    },
  };
}

// Labels are unique without regard to case.
const keyOf = ({ label, key }: { label: string; key: string }): string => `${foldLabel(label)}\0${key}`;
