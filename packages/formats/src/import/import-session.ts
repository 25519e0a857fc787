// One import of a session, whole: its messages, summaries and details, and what of them is there already.
import {
  assertEncodable,
  decodeJson,
  encodeJson,
  forEachYielding,
  isJsonObject,
  isSummaryMessage,
  type JsonObject,
  NAME_LIMITS,
  quote,
  type SessionMessage,
  StemmaError,
  utf8Length,
  yieldIfDue,
} from "@stemma/model";
import {
  assertStore,
  type ImportedMessage,
  type ImportedTree,
  type KeptItem,
  type KeptWrite,
  type MemoryScope,
  type RecordScope,
  type SessionStore,
  type Store,
  type UsageRow,
  writeKept,
} from "@stemma/store";
import { missingParent } from "../lineage.js";
import type { KeptPiece, ParsedSession, SessionCopy, Skipped, Usage } from "../stemma/session-file.js";
import { scopeOf } from "../stemma/store-lines.js";

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

/** A session made ready to be written in one go: nothing in it can be refused. */
interface PreparedSession {
  tree: ImportedTree;
  /** Summaries whose range is not whole among the messages: only the store can tell whether it is one path. */
  doubtful: ParsedSession["compactions"];
  skipped: Skipped[];
}

/**
 * Leaves out what cannot be stored, and says why: what hung below it hangs below its parent. A message whose parent is
 * missing is attached to the one before it in the file, so that it does not hide what came before. `placeOf` gives for an id
 * the stored message that it stands for, if there is one.
 */
async function prepareSession(
  session: ParsedSession,
  placeOf: (id: string) => string | undefined,
): Promise<PreparedSession> {
  const skipped = [...session.skipped];
  /** For each message of the file: its id, or of one that was left out, what stands in its place. */
  const places = new Map<string, string | null>();
  const parents = new Map<string, string | null>();
  const accepted: ImportedMessage[] = [];
  let last: string | null = null;
  const find = (id: string): string | null | undefined => (places.has(id) ? places.get(id) : placeOf(id));
  for (const { message, parentId, after = last, storedAt, at } of session.messages) {
    const due = yieldIfDue();
    if (due !== null) await due;
    const { id } = message;
    if (places.has(id)) {
      skipped.push({ ...at, why: `the id ${quote(String(id))} stands in the file twice; the first is kept` });
      continue;
    }
    let place = parentId === null ? null : find(parentId);
    if (place === undefined) {
      place = (after === null ? null : find(after)) ?? last;
      skipped.push({ ...at, why: missingParent(String(parentId), place !== null) });
    }
    const why = refusal(message);
    if (why !== null) {
      skipped.push({ ...at, why });
      if (typeof id === "string") places.set(id, place);
      continue;
    }
    places.set(id, id);
    last = id;
    parents.set(id, place);
    accepted.push({ message, parentId: place, storedAt });
  }
  const doubtful: ParsedSession["compactions"] = [];
  const compactions = session.compactions.filter((compaction) => {
    if (!isStorable(compaction.id) || !isStorable(compaction.summary)) {
      skipped.push({ line: 0, why: `the summary ${quote(compaction.id)} holds NUL or half a surrogate pair` });
      return false;
    }
    const isOnPath = isOnOnePath(compaction, parents);
    if (isOnPath === true) return true;
    if (isOnPath === "unknown" && placeOf(compaction.fromMessageId) !== undefined) {
      doubtful.push(compaction);
      return false;
    }
    skipped.push({
      line: 0,
      why: `the summary ${quote(compaction.id)} lies over messages that are not there, or not on one path`,
    });
    return false;
  });
  const { activeLeafId: leafId } = session;
  const leaf = typeof leafId === "string" ? (places.get(leafId) ?? placeOf(leafId)) : leafId;
  return { tree: { messages: accepted, compactions, activeLeafId: leaf }, doubtful, skipped };
}

// Why a message cannot be stored; null when it can.
function refusal(message: SessionMessage): string | null {
  try {
    assertEncodable(message);
    return null;
  } catch (error) {
    if (!StemmaError.isInstance(error)) throw error;
    const isSummary = typeof message.id === "string" && isSummaryMessage(message);
    return isSummary ? "it is a summary that stands for other messages, not a message" : error.message;
  }
}

function isOnOnePath(
  { fromMessageId, toMessageId }: { fromMessageId: string; toMessageId: string },
  parents: Map<string, string | null>,
): boolean | "unknown" {
  let id: string | null = toMessageId;
  while (id !== fromMessageId) {
    const parent: string | null | undefined = parents.get(id);
    if (parent === undefined) return "unknown";
    if (parent === null) return false;
    id = parent;
  }
  return parents.has(id) || "unknown";
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Fields of a message's metadata under which formats note the pieces of the file that the message was made of. */
const FORMATS = ["pi", "openai", "claudeCode", "codex", "imported"];

/**
 * Gives a stored message what its file has grown by: the result of a call, or further parts. Parts that are complete stay
 * as they are. Resolves to whether there was anything.
 */
async function completeMessage(store: Store, session: string, message: SessionMessage): Promise<boolean> {
  const format = FORMATS.find((name) => sourcesOf(message, name) > 0);
  // A message of one piece was complete when it was written.
  if (format === undefined) return false;
  for (;;) {
    const old = await store.session(session).message(message.id);
    const update = old === null ? null : completed(old, message, format);
    if (old === null || update === null) return false;
    try {
      await store.writeTogether([{ session, update, expected: old }]);
      return true;
    } catch (error) {
      // Another import, or a program, was faster.
      if (!StemmaError.isInstance(error, "MESSAGE_CHANGED")) throw error;
    }
  }
}

// Null where there is nothing to add.
function completed(old: SessionMessage, message: SessionMessage, format: string): SessionMessage | null {
  const before = sourcesOf(old, format);
  if (before === 0 || before >= sourcesOf(message, format)) return null;
  const parts = old.parts.map((part, index) => {
    const answered = message.parts[index];
    return part.state === "input-available" && answered !== undefined && answered.toolCallId === part.toolCallId
      ? answered
      : part;
  });
  const metadata = { ...asObject(old.metadata), [format]: asObject(message.metadata)[format] };
  return { ...old, parts: [...parts, ...message.parts.slice(parts.length)], metadata };
}

function sourcesOf(message: SessionMessage, format: string): number {
  const { entries, sources } = asObject(asObject(message.metadata)[format]);
  const noted = Array.isArray(entries) ? entries : sources;
  return Array.isArray(noted) ? noted.length : 0;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The label of the records that hold, word for word, what a file says beside the messages. */
const IMPORTED = "imported";

const BATCH = 200;

/** Writes the pieces that are not there yet. Each is a record of the session: `{ line, messageId, source }` as JSON. */
async function keepPieces(store: Store, sessionId: string, pieces: readonly KeptPiece[]): Promise<void> {
  const records = recordsOf(sessionId);
  let writes: KeptWrite[] = [];
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await store.writeTogether(writes);
    writes = [];
  };
  for (const { key, source, at, messageId } of pieces) {
    if (!isKey(key) || (await store.records.get(records, key)) !== null) continue;
    const value = encodeJson({ line: at.line, messageId, source });
    writes.push({ records, key, value });
    if (writes.length >= BATCH) await flush();
  }
  await flush();
}

/** For ids that are no messages: the message that what follows such a piece of the file is attached to. */
async function findPlaces(
  store: Store,
  sessionId: string,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const places = new Map<string, string>();
  for (const id of ids) {
    const record = isKey(id) ? await store.records.get(recordsOf(sessionId), id) : null;
    if (record === null) continue;
    const piece: unknown = decodeJson(record.value);
    if (isJsonObject(piece) && typeof piece.messageId === "string") places.set(id, piece.messageId);
  }
  return places;
}

function countKept(pieces: readonly KeptPiece[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { kind } of pieces) if (kind !== null) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function recordsOf(sessionId: string): RecordScope {
  return { sessionId, label: IMPORTED };
}

function isKey(key: string): boolean {
  return key !== "" && utf8Length(key) <= NAME_LIMITS.key && key.isWellFormed() && !key.includes("\0");
}

const COUNTED = { label: "imported-usage", key: "total" };
const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, cost: 0 };

/**
 * The usage that an import counts with the messages: the total of a file that tells no more, where the session counts nothing
 * yet. Undefined for nothing.
 */
function totalAlone({ usage, usageRows }: ParsedSession): Usage | undefined {
  return usage === undefined || usageRows !== undefined || isNothing(usage) ? undefined : usage;
}

/** Counts what a file tells by day and model: its rows, and of the total what was not counted by an import before. */
async function addUsage(store: Store, sessionId: string, { usage, usageRows }: ParsedSession): Promise<void> {
  if (usage === undefined || usageRows === undefined) return;
  while (!(await countMore(store, sessionId, usage, usageRows)));
}

// False where another import was faster.
async function countMore(store: Store, sessionId: string, usage: Usage, rows: readonly UsageRow[]): Promise<boolean> {
  const known = await readRecord(store, sessionId);
  // Without a record, a session that counts already was imported by an earlier version, or has gone on by itself.
  const before = known?.usage ?? ((await countsNothing(store, sessionId)) ? NOTHING : usage);
  const more = {
    inputTokens: usage.inputTokens - before.inputTokens,
    outputTokens: usage.outputTokens - before.outputTokens,
    cost: usage.cost - before.cost,
  };
  if (known !== null && more.inputTokens <= 0 && more.outputTokens <= 0) return true;
  const records = { sessionId, label: COUNTED.label };
  const options = { expectedVersion: known?.version ?? 0 };
  try {
    await store.writeTogether([
      { records, key: COUNTED.key, value: encodeJson(usage), options },
      { registered: sessionId, imported: more, rows },
    ]);
    return true;
  } catch (error) {
    if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
    return false;
  }
}

async function countsNothing(store: Store, sessionId: string): Promise<boolean> {
  const info = await store.sessions.get(sessionId);
  if (info === null) return true;
  const { input_tokens: inputTokens, output_tokens: outputTokens, estimated_cost: cost } = info;
  return isNothing({ inputTokens, outputTokens, cost });
}

function isNothing({ inputTokens, outputTokens, cost }: Usage): boolean {
  return inputTokens === 0 && outputTokens === 0 && cost === 0;
}

async function readRecord(store: Store, sessionId: string): Promise<{ usage: Usage; version: number } | null> {
  const record = await store.records.get({ sessionId, label: COUNTED.label }, COUNTED.key);
  return record === null ? null : { usage: decodeJson(record.value) as Usage, version: record.version };
}
