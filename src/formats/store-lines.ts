import type { JsonObject } from "../model/json-object.js";
import type { MemoryOwner, SessionInfo, Store } from "../storage/contract.js";
import { allOwners, listAll } from "../storage/list-all.js";
import { keptLines } from "./kept-lines.js";

/** The version of our own lines that is written. */
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

/** The first line of what is remembered outside of sessions. */
export const memoryHeader = (owner: MemoryOwner): JsonObject => ({ stemma: VERSION, memory: owner });

/** A line for each message of every branch, in the order in which they were written. */
export async function* messageLines(store: Store, sessionId: string): AsyncGenerator<JsonObject> {
  for await (const { message, parentId, storedAt } of store.session(sessionId).messages()) {
    const dated = message.createdAt instanceof Date ? { createdAt: "Date" } : {};
    yield { message, parentId, storedAt, ...dated };
  }
}

/** A line for each summary, oldest first. */
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

/** The same of what is remembered of a user, under a key, or for an id that no session has. */
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
