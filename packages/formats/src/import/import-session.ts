import { forEachYielding, StemmaError } from "@stemma/model";
import type { MemoryScope, SessionStore, Store } from "@stemma/store";
import { assertStore, type KeptItem, writeKept } from "@stemma/store";
import type { ParsedSession, SessionCopy, Skipped } from "../stemma/session-file.js";
import { scopeOf } from "../stemma/store-lines.js";
import { addUsage, completeMessage, countKept, findPlaces, keepPieces, totalAlone } from "./complete-message.js";
import { prepareSession } from "./prepare.js";

/** To tell what is stored already, a tree is read that is at most so many times the piece; else each message is asked for. */
const MUCH_LARGER = 4;

/**
 * Writes a session's messages, summaries, active leaf and registry entry in one transaction, and then what is kept beside them
 * and its usage. What is stored already stays as it is, so that a second import adds nothing, and one that was cut off is
 * completed by the next. Null when the file's session has nothing that can be stored, or nothing of it was understood. Errors:
 * those of the store; `STORE_UNSUPPORTED` for what is no store; `INVALID_ARGUMENT` and `INVALID_TEXT` for an id that no session
 * can have.
 */
export async function importSession(
  store: Store,
  session: ParsedSession,
  sessionId = session.id,
): Promise<ImportReport | null> {
  assertStore(store, "importSession()");
  if (session.isUnread === true) return null;
  const { copy } = session;
  if (copy?.owner !== undefined) return importMemory(store, session.name, copy);
  const isNew = (await store.sessions.get(sessionId)) === null;
  const stored = store.session(sessionId);
  const known = await findKnown(stored, session);
  const places = await findPlaces(store, sessionId, await outsideParents(session, known));
  const placeOf = (id: string): string | undefined => (known.has(id) ? id : places.get(id));
  const { tree, doubtful, skipped } = await prepareSession(session, placeOf);
  const messages = tree.messages.map(({ message }) => message);
  const pieces = session.kept ?? [];
  if (messages.length === 0 && skipped.length > 0 && pieces.length === 0) return null;
  const { name, model, source, parentSessionId, userId, metadata } = session;
  const isNews = messages.some(({ id }) => !known.has(id));
  const { inserted } = await stored.importTree({
    ...tree,
    // Whoever went on with the session since the last import stays where they are.
    activeLeafId: isNews ? tree.activeLeafId : undefined,
    session: { name, model, source, parentSessionId, userId, metadata },
    usage: totalAlone(session),
    skills: isNew ? copy?.skills : undefined,
  });
  const again = new Set(session.messages.flatMap((parsed) => (parsed.again === true ? [parsed.message.id] : [])));
  let updated = 0;
  for (const message of messages) {
    const isCompleted = known.has(message.id) && (await completeMessage(store, sessionId, message));
    if (isCompleted && !again.has(message.id)) updated += 1;
  }
  for (const compaction of doubtful) {
    const why = await tryCompaction(stored, compaction);
    if (why !== null) skipped.push({ line: 0, why });
  }
  await keepPieces(store, sessionId, pieces);
  await addUsage(store, sessionId, session);
  await rename(store, sessionId, session);
  if (!isNew) await describe(store, sessionId, session);
  if (copy !== undefined) await completeCopy(store, sessionId, copy, isNew, skipped);
  return {
    session: sessionId,
    name,
    messages: messages.length - again.size,
    inserted,
    updated,
    compactions: (tree.compactions?.length ?? 0) + doubtful.length,
    kept: countKept(pieces),
    skipped,
  };
}

async function findKnown(stored: SessionStore, { messages, compactions }: ParsedSession): Promise<Set<string>> {
  const count = await stored.count();
  if (count === 0) return new Set();
  if (count <= MUCH_LARGER * messages.length) return new Set((await stored.tree()).map(({ id }) => id));
  const known = new Set<string>();
  const named = [
    ...messages.flatMap(({ message, parentId, after }) => [message.id, parentId, after]),
    ...compactions.map(({ fromMessageId }) => fromMessageId),
  ];
  for (const id of new Set(named)) if (typeof id === "string" && (await stored.message(id)) !== null) known.add(id);
  return known;
}

// The parents that are neither in the piece nor messages of the session, and the leaf where it is no message of the piece.
async function outsideParents(
  { messages, activeLeafId }: ParsedSession,
  known: ReadonlySet<string>,
): Promise<Iterable<string>> {
  const inside = new Set<string>();
  await forEachYielding(messages, ({ message }) => inside.add(message.id));
  const outside = new Set<string>();
  const note = (id: string | null | undefined): void => {
    if (id != null && !inside.has(id) && !known.has(id)) outside.add(id);
  };
  await forEachYielding(messages, ({ parentId }) => note(parentId));
  note(activeLeafId);
  return outside;
}

// The range lies in pieces that were written before: only the store can tell whether it is one path.
async function tryCompaction(
  stored: SessionStore,
  compaction: ParsedSession["compactions"][number],
): Promise<string | null> {
  try {
    await stored.importTree({ messages: [], compactions: [compaction] });
    return null;
  } catch (error) {
    if (!StemmaError.isInstance(error, "COMPACTION_INVALID_RANGE")) throw error;
    return `the summary ${compaction.id} lies over messages that are not there, or not on one path`;
  }
}

async function rename(store: Store, sessionId: string, { name, formerNames }: ParsedSession): Promise<void> {
  if (formerNames === undefined || formerNames.length === 0) return;
  const info = await store.sessions.get(sessionId);
  if (info === null || info.name === name || !formerNames.includes(info.name)) return;
  await store.sessions.update(sessionId, { name, expectedName: info.name });
}

// What the file tells of the session only since it grew, or a program of an earlier version did not read.
async function describe(store: Store, sessionId: string, { metadata = {} }: ParsedSession): Promise<void> {
  if (Object.keys(metadata).length === 0) return;
  const info = await store.sessions.get(sessionId);
  if (info !== null && Object.keys(info.metadata).length === 0) await store.sessions.update(sessionId, { metadata });
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cost: 0 };

/** Writes what is kept beside the messages of a session, unless it is there, and dates one that is new. */
async function completeCopy(
  store: Store,
  sessionId: string,
  { items, usageRows, dates }: SessionCopy,
  isNew: boolean,
  skipped: Skipped[],
): Promise<void> {
  await writeItems(store, { sessionId }, items, skipped);
  if (!isNew || (await store.sessions.get(sessionId)) === null) return;
  await store.sessions.importUsage(sessionId, NO_USAGE, usageRows);
  await store.sessions.restore(sessionId, dates);
}

/** Writes what is remembered outside of sessions, unless it is there. Errors: `SESSION_OWNED` for another user's on a store of one user. */
async function importMemory(store: Store, name: string, { owner, items }: SessionCopy): Promise<ImportReport> {
  const skipped: Skipped[] = [];
  const [target, scope] = scopeOf(store, owner ?? { session: "" });
  await writeItems(target, scope, items, skipped);
  return { session: "", name, messages: 0, inserted: 0, updated: 0, compactions: 0, kept: {}, skipped };
}

async function writeItems(store: Store, scope: MemoryScope, items: readonly KeptItem[], skipped: Skipped[]) {
  for (const item of items) {
    try {
      await writeKept(store, scope, item);
    } catch (error) {
      if (!StemmaError.isInstance(error) || !error.code.startsWith("INVALID_")) throw error;
      skipped.push({ line: 0, why: error.message });
    }
  }
}

/** The outcome of importing one session, the memory of a user or a key, or a piece of a long session. */
export interface ImportReport {
  session: string;
  name: string;
  /** Messages of the file that the session now has. */
  messages: number;
  /** Those of them that it had not before. */
  inserted: number;
  /** Those that were incomplete, and of which the file now has more: the results of tools, as a rule. */
  updated: number;
  compactions: number;
  /** Pieces that were kept word for word because nothing reads them: how many of each kind. */
  kept: Record<string, number>;
  /** Values and messages that were left out. */
  skipped: Skipped[];
}

/** The report of a session whose pieces were reported one by one. */
export function addReports(first: ImportReport, next: ImportReport): ImportReport {
  const kinds = new Set([...Object.keys(first.kept), ...Object.keys(next.kept)]);
  const countOf = (kept: Record<string, number>, kind: string) => (Object.hasOwn(kept, kind) ? (kept[kind] ?? 0) : 0);
  return {
    session: next.session,
    name: next.name,
    messages: first.messages + next.messages,
    inserted: first.inserted + next.inserted,
    updated: first.updated + next.updated,
    compactions: first.compactions + next.compactions,
    kept: Object.fromEntries([...kinds].map((kind) => [kind, countOf(first.kept, kind) + countOf(next.kept, kind)])),
    skipped: [...first.skipped, ...next.skipped],
  };
}
