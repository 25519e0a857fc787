// One backend: what a session needs of a store, made of a provider that a program wrote itself.
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
  hideUnloaded,
  inPieces,
  invalidRange,
  isSummary,
  isSummaryMessage,
  jsonBytes,
  type LoadFinder,
  leafMoved,
  mapped,
  NO_SKILLS,
  noCompaction,
  noMessage,
  noParent,
  queueOf,
  recordLoad,
  recordUnload,
  type SessionMessage,
  type SkillState,
  StemmaError,
  SUMMARY_ID_PREFIX,
  searchableText,
  staleRange,
  takeRecent,
} from "@stemma/model";
import {
  type AppendResult,
  type CompactionGuard,
  type NewCompaction,
  type ParentRef,
  type ReadOptions,
  type SearchHit,
  type SessionStore,
  type StoredCompaction,
  type TreeNode,
  valuesIn,
} from "@stemma/store";
import type { SkillLog } from "../../tools/tool.js";
import type { DatedOptions, SessionBackend, SessionProvider } from "./provider.js";
/**
 * A session kept by a provider that a user wrote, with the documented methods only. What those methods cannot do by
 * themselves is done in several calls, and is no more atomic than they are. Within a process each call of ours is one
 * work: those that read run together, one that writes is alone, in the order in which they were made.
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

  // Within one call, nothing below waits for another one.
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
    // Without a reranker, `rerank` and its `signal` mean nothing.
    search: reading(async (query, { limit, offset = 0, rerank: _rerank, signal: _signal, ...filters }) => {
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

/** Reads what a provider keeps that a user wrote. The id of a summary stands for the last message under it. */
class ProviderReader {
  constructor(
    private readonly provider: SessionProvider,
    private readonly sessionId: string,
  ) {}

  async message(id: string, options?: DatedOptions): Promise<SessionMessage | null> {
    return (await this.provider.getMessage(id, ...asked(options))) ?? null;
  }

  async compactions(): Promise<StoredCompaction[]> {
    return [...(await this.provider.getCompactions())];
  }

  async named<Id extends string | null | undefined>(id: Id): Promise<Id | string> {
    if (!id || !isSummaryMessage({ id })) return id;
    return summaryBehind(id, await this.compactions())?.toMessageId ?? id;
  }

  /** The id of a stored message for an id that must be known. Errors: `MESSAGE_NOT_FOUND`. */
  async known(id: string): Promise<string> {
    const messageId = await this.named(id);
    if ((await this.message(messageId)) === null) throw noMessage(this.sessionId, messageId);
    return messageId;
  }

  /** The visible history. Errors: `MESSAGE_NOT_FOUND`. */
  async history(leafId: string | null | undefined, options?: DatedOptions): Promise<SessionMessage[]> {
    const known = leafId == null ? undefined : await this.known(leafId);
    const path = await this.provider.getHistory(known, ...asked(options));
    return applyCompactions(path, await this.compactions());
  }

  /** The path without summaries, which a provider may lay over the messages itself. */
  async stored(leafId: string | null | undefined, options?: DatedOptions): Promise<SessionMessage[]> {
    const path = [...(await this.provider.getHistory(await this.named(leafId ?? undefined), ...asked(options)))];
    if (!path.some(isSummaryMessage)) return path;
    const found: SessionMessage[] = [];
    for (const each of path) {
      if (isSummaryMessage(each)) found.push(...(await this.originals(each.id.slice(SUMMARY_ID_PREFIX.length))));
      else found.push(each);
    }
    return found;
  }

  /** The messages under a summary. Errors: `COMPACTION_NOT_FOUND`. */
  async originals(compactionId: string): Promise<SessionMessage[]> {
    const compaction = (await this.compactions()).find(({ id }) => id === compactionId);
    if (compaction === undefined) throw noCompaction(this.sessionId, compactionId);
    const path = await this.provider.getHistory(compaction.toMessageId);
    const from = path.findIndex(({ id }) => id === compaction.fromMessageId);
    return from < 0 ? [] : path.slice(from);
  }

  /** Null for a root. Errors: `MESSAGE_NOT_FOUND`. */
  async parentOf(messageId: string): Promise<SessionMessage | null> {
    return (await this.stored(await this.known(messageId))).at(-2) ?? null;
  }
}

// A provider of the documents takes one argument.
function asked(options: DatedOptions | undefined): [] | [DatedOptions] {
  return options?.createdAt === true ? [{ createdAt: true }] : [];
}

/** The compaction whose summary has this id. */
function summaryBehind(id: string, compactions: readonly StoredCompaction[]): StoredCompaction | undefined {
  return compactions.find((each) => SUMMARY_ID_PREFIX + each.id === id);
}

/**
 * The skills of a session on a provider that a user wrote, which has no place for them but its messages: those tell what is
 * loaded, and an unload empties the results there. Calls whose results are not stored yet are remembered until they are.
 */
interface ProviderSkillLog extends SkillLog {
  /** The message as it is to be stored: emptied of what was unloaded before. Called within a write. */
  emptied(message: SessionMessage): SessionMessage;
  /** Forgets all of it, within the write that removes the messages. */
  clear(): void;
}

// By what the objects for one session have in common.
const states = new WeakMap<object, SkillState>();

export function providerSkillLog(provider: SessionProvider): ProviderSkillLog {
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => queueOf(provider).write("", work);
  const current = (): SkillState => states.get(provider) ?? NO_SKILLS;
  return {
    load: (label, key, toolCallId) =>
      inOrder(async () => {
        states.set(provider, recordLoad(current(), label, key, toolCallId));
      }),
    loaded: () => queueOf(provider).read("", async () => [...loadsIn(await provider.getHistory()).loads].reverse()),
    unload: (label, key) =>
      inOrder(async () => {
        const path = [...(await provider.getHistory())];
        const loaded = loadsIn(path)
          .callsOf(label, key)
          .reduce((before, id) => recordLoad(before, label, key, id ?? undefined), current());
        const next = recordUnload(loaded, label, key, 0);
        if (next === null) return false;
        const unloaded = { loaded: [], unloaded: next.unloaded.slice(-1) };
        for (const message of path) {
          const shorter = isSummaryMessage(message) ? message : hideUnloaded(message, 0, unloaded);
          if (shorter !== message) await provider.updateMessage(shorter);
        }
        states.set(provider, next);
        return true;
      }),
    emptied: (message) => hideUnloaded(message, null, current()),
    clear: () => {
      states.delete(provider);
    },
  };
}

function loadsIn(path: readonly SessionMessage[]): LoadFinder {
  const finder = createLoadFinder();
  for (const message of [...path].reverse()) finder.look(message);
  return finder;
}
