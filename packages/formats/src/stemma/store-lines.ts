import type { SessionMessage } from "@stemma/model";
import { fromBase64, isJsonObject, type JsonObject, mapped, type Pieces, toBase64 } from "@stemma/model";
import type { MemoryOwner, MemoryScope, SessionInfo, Store, StoredCompaction } from "@stemma/store";
import { allOwners, type KeptItem, listAll, readKept } from "@stemma/store";
export const VERSION = 2;

/** The last line of what belongs together. */
export const END: JsonObject = { end: true };

/** The first line of a session. The counts in it are of when it was read. */
export async function sessionHeader(store: Store, session: SessionInfo): Promise<JsonObject> {
  const stored = store.session(session.id);
  const [messages, compactions, leaf, { loaded, unloaded }, usage] = await Promise.all([
    stored.count(),
    stored.compactions(),
    stored.leaf(),
    stored.skills(),
    store.sessions.usageRows(session.id),
  ]);
  return {
    stemma: VERSION,
    session,
    activeLeafId: leaf?.id ?? null,
    messages,
    compactions: compactions.length,
    // The numbers in it are those of a store's rows; calls are known by their ids as well, which hold everywhere.
    skills: { loaded, unloaded: unloaded.map((skill) => ({ ...skill, through: 0 })) },
    usage,
  };
}

export const memoryHeader = (owner: MemoryOwner): JsonObject => ({ stemma: VERSION, memory: owner });

/** A line for each message of every branch, in the order in which they were written. */
export async function* messageLines(store: Store, sessionId: string): AsyncGenerator<JsonObject> {
  for await (const { message, parentId, storedAt } of store.session(sessionId).messages()) {
    const dated = message.createdAt instanceof Date ? { createdAt: "Date" } : {};
    yield { message, parentId, storedAt, ...dated };
  }
}

export async function* compactionLines(store: Store, sessionId: string): AsyncGenerator<JsonObject> {
  const compactions = await store.session(sessionId).compactions();
  if (compactions.length === 0) return;
  const sums = await store.sessions.compactionSums({ by: "compaction", sessionId, limit: compactions.length });
  const covered = new Map(sums.map(({ name, tokensBefore }) => [name, tokensBefore]));
  for (const compaction of compactions) yield { compaction, coveredTokens: covered.get(compaction.id) };
}

/** The lines of a session behind its header, without the last. */
export async function* sessionLines(store: Store, sessionId: string): AsyncGenerator<JsonObject> {
  yield* messageLines(store, sessionId);
  yield* compactionLines(store, sessionId);
  yield* keptLines(store, { sessionId });
}

/** The lines of what is remembered of a user, under a key, or for an id that no session has. */
export async function* memoryLines(store: Store, owner: MemoryOwner): AsyncGenerator<JsonObject> {
  const [target, scope] = scopeOf(store, owner);
  yield* keptLines(target, scope);
}

/** Whose memory a store holds outside of its sessions: ids that no session has, then users, then keys. */
export async function* ownersOf(store: Store): AsyncGenerator<MemoryOwner> {
  // What an upgrade brought along is among it. In which sessions it shows depends on which there are.
  for await (const session of listAll((page) => store.sessions.unregistered(page), String)) yield { session };
  yield* allOwners(store);
}

/** Where what is remembered stands: the store to ask, and the scope to name. */
export function scopeOf(store: Store, owner: MemoryOwner) {
  if ("user" in owner) return [store.forUser(owner.user), { sessionId: "", scope: "user" }] as const;
  if ("key" in owner) return [store, { sessionId: "", scope: owner }] as const;
  return [store, { sessionId: owner.session }] as const;
}

/** The lines of a session: every message of every branch, the summaries, the active leaf, and all that is kept beside them. */
export async function* exportJsonl(store: Store, session: SessionInfo): AsyncGenerator<string> {
  yield JSON.stringify(await sessionHeader(store, session));
  for await (const line of sessionLines(store, session.id)) yield JSON.stringify(line);
  yield JSON.stringify(END);
}

/** The lines of what is remembered of a user, or under a key. */
export async function* exportMemory(store: Store, owner: MemoryOwner): AsyncGenerator<string> {
  yield JSON.stringify(memoryHeader(owner));
  for await (const line of memoryLines(store, owner)) yield JSON.stringify(line);
  yield JSON.stringify(END);
}

/** Items kept beside the messages, as the values of lines: `{ kept }`, the bytes of a record as base64. Errors: `USER_REQUIRED`. */
export async function* keptLines(store: Store, scope: MemoryScope): AsyncGenerator<JsonObject> {
  for await (const item of readKept(store, scope)) {
    if (item.kind !== "record") yield { kept: item };
    else yield { kept: { ...item, record: { ...item.record, value: toBase64(item.record.value) } } };
  }
}

/** The item that a line holds; null for what is none. */
export function readKeptLine(given: unknown): KeptItem | null {
  if (!isJsonObject(given)) return null;
  const { kind, label, key, block, entry, record, versions } = given;
  const isNamed = typeof label === "string";
  const isVersioned = Array.isArray(versions) && versions.every(isVersion);
  if (kind === "prompt") return isBlock(block) ? (given as KeptItem) : null;
  if (kind === "block") return isBlock(block) && isText(block.label) && isVersioned ? (given as KeptItem) : null;
  if (kind === "entry") return isNamed && isEntry(entry) && isVersioned ? (given as KeptItem) : null;
  if (kind === "removed") return isNamed && isText(key) && isVersioned ? (given as KeptItem) : null;
  if (kind !== "record" || !isNamed || !isJsonObject(record) || !isText(record.key) || !isText(record.value))
    return null;
  const bytes = attempt(() => fromBase64(record.value as string));
  return bytes === null || !isVersionNumber(record.version)
    ? null
    : ({ kind, label, record: { ...record, value: bytes } } as KeptItem);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isVersionNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;

function isBlock(value: unknown): value is JsonObject {
  return isJsonObject(value) && isText(value.content) && isVersionNumber(value.version);
}

function isEntry(value: unknown): boolean {
  return isJsonObject(value) && isText(value.key) && isText(value.content);
}

function isVersion(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { version, content, writtenAt, messageIds } = value;
  const isContent = content === null || isText(content);
  return (
    isVersionNumber(version) && isContent && isText(writtenAt) && Array.isArray(messageIds) && messageIds.every(isText)
  );
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** A session as the store has it, whole: what an export that must put things into another order works on. */
export interface StoredSession {
  info: SessionInfo;
  /** Every message of every branch in the order they were written: parents before their children. */
  messages: {
    message: SessionMessage;
    parentId: string | null;
    /** ISO time: the message's own, else when it was stored. */
    createdAt?: string;
  }[];
  /** Oldest first. */
  compactions: StoredCompaction[];
  activeLeafId: string | null;
}

export async function readStoredSession(store: Store, info: SessionInfo): Promise<StoredSession> {
  const session = store.session(info.id);
  const messages: StoredSession["messages"] = [];
  for await (const stored of session.messages()) messages.push(stored);
  const compactions = await session.compactions();
  const leaf = await session.leaf();
  return { info, messages, compactions, activeLeafId: leaf?.id ?? null };
}

/** The messages from the root to `leafId`, or to the active leaf. */
export function* pathOf({ messages, activeLeafId }: StoredSession, leafId = activeLeafId): Pieces<SessionMessage[]> {
  const byId = new Map(yield* mapped(messages, (node) => [node.message.id, node] as const));
  const path: SessionMessage[] = [];
  for (let node = byId.get(leafId ?? ""); node !== undefined; node = byId.get(node.parentId ?? "")) {
    path.push(node.message);
    yield;
  }
  return path.reverse();
}
