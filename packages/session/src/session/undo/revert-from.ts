import { isToolPart, noMessage, type SessionMessage, StemmaError, sameJson, takenBack } from "@stemma/model";
import {
  type BlockKey,
  DEFAULT_KEPT_VERSIONS,
  type EntryScope,
  fieldsOf,
  type KeptWrite,
  type MemoryOwner,
  type RememberedVersion,
  type SessionStore,
  type Store,
  type StoredCompaction,
  type StoredVersion,
} from "@stemma/store";
import type { LiveBlock } from "../../context/live-block.js";

const MAX_ATTEMPTS = 10;

interface RevertParts {
  readonly store: Store;
  readonly session: SessionStore;
  /** False for an entry of a scope that is only read. */
  mayWrite(text: MemoryPlace): boolean;
  /** Takes a summary back, and tells listeners. */
  removeCompaction(id: string): Promise<void>;
}

/**
 * Undoes what came of a message, or with `dryRun` only says what that is. Blocks and entries change together or not at all, then
 * summaries are taken back. Whoever is cut off calls it again. Errors: `MESSAGE_NOT_FOUND`, `BLOCK_CONFLICT` or
 * `ENTRY_CONFLICT` where others never stop writing.
 */
export async function revertFrom(parts: RevertParts, messageId: string, dryRun: boolean): Promise<Reverted> {
  const { store, session } = parts;
  const user = store.userId ?? (await store.sessions.get(session.id))?.user_id;
  // What another user says to have written here is not this one's.
  const texts = textsOf(await writesOf(session, messageId)).filter(
    ({ owner }) => !("user" in owner) || owner.user === user,
  );
  const compactions = await compactionsOver(session, messageId);
  const reverted = await retried(async () => {
    const found: RevertedWrite[] = [];
    for (const written of texts) {
      const origin = { sessionId: session.id, messageId, mayWrite: parts.mayWrite(written) };
      const text = await revertText(store, origin, written);
      if (text !== null) found.push(text);
    }
    const writes = found.flatMap(({ write }) => write ?? []);
    if (!dryRun && writes.length > 0) await store.writeTogether(writes);
    return found;
  });
  // The newest first: an older one may lie under it.
  if (!dryRun) for (const { id } of [...compactions].reverse()) await removed(parts, id);
  return { ...sorted(reverted), compactions };
}

async function removed(parts: RevertParts, compactionId: string): Promise<void> {
  try {
    await parts.removeCompaction(compactionId);
  } catch (error) {
    if (!StemmaError.isInstance(error, "COMPACTION_NOT_FOUND")) throw error;
  }
}

// By the text that they are versions of, in the order of its name.
function textsOf(writes: readonly RememberedVersion[]): Written[] {
  const texts = new Map<string, RememberedVersion[]>();
  for (const write of writes) {
    const name = JSON.stringify([write.label, write.key, write.owner]);
    texts.set(name, [...(texts.get(name) ?? []).filter(({ version }) => version !== write.version), write]);
  }
  const named = [...texts].sort(([one], [other]) => (one < other ? -1 : 1));
  return named.flatMap(([, versions]) => writtenOf(versions) ?? []);
}

function sorted(reverted: readonly RevertedWrite[]): Pick<Reverted, "blocks" | "entries"> {
  const blocks: RevertedText[] = [];
  const entries: RevertedEntry[] = [];
  for (const { text } of reverted) {
    const { key, ...block } = text;
    if (key === null) blocks.push(block);
    else entries.push({ ...block, key });
  }
  return { blocks, entries };
}

// Again while others write to the same blocks and entries.
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isConflict =
        StemmaError.isInstance(error, "BLOCK_CONFLICT") || StemmaError.isInstance(error, "ENTRY_CONFLICT");
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** The compactions of which a message is part of the range, oldest first. */
async function compactionsOver(session: SessionStore, messageId: string): Promise<StoredCompaction[]> {
  const found: StoredCompaction[] = [];
  let path = new Map<string, number>();
  // The path to the newest one usually holds all of them.
  for (const compaction of (await session.compactions()).reverse()) {
    if (!path.has(compaction.toMessageId)) {
      const rows = await session.rowStats(compaction.toMessageId);
      path = new Map(rows.map(({ id }, index) => [id, index]));
    }
    const [from, at, to] = [compaction.fromMessageId, messageId, compaction.toMessageId].map((id) => path.get(id));
    if (from !== undefined && at !== undefined && to !== undefined && from <= at && at <= to) found.unshift(compaction);
  }
  return found;
}

/** A text without what some of its versions did, and the write that makes it so; null where there is nothing to write. */
interface RevertedWrite {
  readonly text: RevertedText & { readonly key: string | null };
  readonly write: KeptWrite | null;
}

/** Versions of one text that came of a message. */
interface Written {
  readonly owner: MemoryOwner;
  readonly label: string;
  readonly key: string | null;
  /** Oldest first. */
  readonly versions: readonly RememberedVersion[];
  /** The latest version that undid some of them; 0 for none. */
  readonly undone: number;
}

/** Of all versions of a text that name a message, those that are not there to undo others. Null where there are none. */
function writtenOf(all: readonly RememberedVersion[]): Written | null {
  const sorted = [...all].sort((one, other) => one.version - other.version);
  const versions = sorted.filter(({ author }) => author !== "program");
  const [first] = versions;
  if (first === undefined) return null;
  const undone = sorted.findLast(({ author }) => author === "program")?.version ?? 0;
  return { owner: first.owner, label: first.label, key: first.key, versions, undone };
}

/**
 * Undoes what these versions of one block or entry did; null where that was done before. `origin` says which session and
 * message they came of.
 */
async function revertText(store: Store, origin: RevertOrigin, written: Written): Promise<RevertedWrite | null> {
  const { owner, label, key } = written;
  const place = placeOf(owner, origin.sessionId, label);
  return key === null ? revertBlock(store, place, origin, written) : revertEntry(store, place, key, origin, written);
}

interface RevertOrigin {
  readonly sessionId: string;
  readonly messageId: string;
  readonly mayWrite: boolean;
}

async function revertBlock(
  store: Store,
  place: EntryScope,
  origin: RevertOrigin,
  written: Written,
): Promise<RevertedWrite | null> {
  const block: BlockKey = { ...place, kind: "block" };
  const present = await store.blocks.get(block);
  const versions = await store.blocks.versions(block);
  const before = present?.content ?? "";
  const found = withoutVersions(before, written, versions);
  const after = found === undefined ? before : (found ?? "");
  if (after === before && written.undone > 0) return null;
  const text = described(written, before, after, found !== undefined);
  const options = { ...noted(origin, written, versions), expectedVersion: present?.version ?? 0 };
  return { text, write: after === before ? null : { block, content: after, options } };
}

async function revertEntry(
  store: Store,
  entries: EntryScope,
  key: string,
  origin: RevertOrigin,
  written: Written,
): Promise<RevertedWrite | null> {
  const present = await store.entries.get(entries, key);
  const versions = await store.entries.versions(entries, key);
  const before = present?.content ?? null;
  const found = origin.mayWrite ? withoutVersions(before, written, versions) : undefined;
  const after = found === undefined ? before : found;
  const fields = found === undefined ? null : fieldsBefore(written, versions);
  const isKept = fields === null || present === null || sameJson(fields, fieldsOf({ fact: present }));
  const isSame = after === before && isKept;
  if (isSame && written.undone > 0) return null;
  const text = described(written, before, after, found !== undefined);
  const options = { ...noted(origin, written, versions), expectedContent: before };
  const write = { entries, key, content: after, value: present?.value, ...fields, options };
  return { text, write: isSame ? null : write };
}

// What an entry said of its time before these versions; null where something else was written of it since.
function fieldsBefore(
  { versions: written }: Written,
  versions: readonly StoredVersion[],
): ReturnType<typeof fieldsOf> | null {
  const before = versions.find(({ version }) => version === (written[0]?.version ?? 0) - 1);
  const isLatest = sameJson(fieldsOf(versions[0] ?? {}), fieldsOf(written.at(-1) ?? {}));
  return before === undefined || !isLatest ? null : fieldsOf(before);
}

// Undefined where it cannot be undone.
function withoutVersions(
  present: string | null,
  { versions: written, undone }: Written,
  versions: readonly StoredVersion[],
): string | null | undefined {
  const contents = new Map(versions.map(({ version, content }) => [version, content]));
  let text = present;
  for (const { version, content } of [...written].reverse()) {
    const before = version === 1 ? null : contents.get(version - 1);
    if (before === undefined) return undefined;
    const left = text === content ? before : takenBack(text ?? "", before ?? "", content ?? "");
    const isRefused = left === null && text !== content;
    // What it wrote is there no more where it was undone.
    if (isRefused && version < undone) continue;
    if (isRefused) return undefined;
    text = left === "" && before === null ? null : left;
  }
  return text;
}

function described(
  { owner, label, key, versions }: Written,
  before: string | null,
  after: string | null,
  isUndone: boolean,
) {
  return { owner, label, key, versions: versions.map(({ version }) => version), before, after, isUndone };
}

// It says which messages it undoes, and none of the versions that are there goes for it.
function noted({ sessionId, messageId }: RevertOrigin, written: Written, versions: readonly StoredVersion[]) {
  const messageIds = [...new Set([...written.versions.flatMap((version) => version.messageIds), messageId])];
  const keepVersions = Math.max(DEFAULT_KEPT_VERSIONS, versions.length + 1);
  return { origin: { author: "program" as const, sessionId, messageIds }, keepVersions };
}

function placeOf(owner: MemoryOwner, sessionId: string, label: string): EntryScope {
  if ("session" in owner) return { sessionId: owner.session, label };
  return { sessionId, label, scope: "user" in owner ? "user" : { key: owner.key } };
}

/**
 * Finds what was written from a message. Of a user's message that is all that the answer to it wrote. Of a message of the answer it
 * is what its tool calls wrote, and those of the messages below it, up to the user's next one. Errors: `MESSAGE_NOT_FOUND`.
 */
async function writesOf(session: SessionStore, messageId: string): Promise<RememberedVersion[]> {
  const message = await session.message(messageId);
  if (message === null) throw noMessage(session.id, messageId);
  const own = await session.writes(messageId);
  if (message.role === "user") return own;
  const question = await questionOf(session, messageId);
  if (question === null) return own;
  const calls = await callsFrom(session, message);
  const answered = await session.writes(question.id);
  return [...own, ...answered.filter(({ toolCallId }) => toolCallId !== null && calls.has(toolCallId))];
}

async function questionOf(session: SessionStore, messageId: string): Promise<SessionMessage | null> {
  let above = await session.parent(messageId);
  while (above !== null && above.role !== "user") above = await session.parent(above.id);
  return above;
}

async function callsFrom(session: SessionStore, message: SessionMessage): Promise<ReadonlySet<string>> {
  const calls = new Set<string>();
  const left = [message];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    for (const part of each.parts) if (isToolPart(part)) calls.add(part.toolCallId);
    left.push(...(await session.branches(each.id)).filter(({ role }) => role !== "user"));
  }
  return calls;
}

/** A block or an entry to which something was written that came of a message. */
export interface RevertedText {
  readonly owner: MemoryOwner;
  readonly label: string;
  /** The versions that came of the message, oldest first. */
  readonly versions: readonly number[];
  /** The text before it is undone; null for an entry that is not there. */
  readonly before: string | null;
  /** The text when it is undone; null for an entry that is not there then. What others wrote later is in it. */
  readonly after: string | null;
  /** False where it stays as it is: others changed the same lines later, the version before is kept no longer, or its scope is only read. */
  readonly isUndone: boolean;
}

export interface RevertedEntry extends RevertedText {
  readonly key: string;
}

/** The writes that came of a message, and were undone. */
export interface Reverted {
  readonly blocks: readonly RevertedText[];
  readonly entries: readonly RevertedEntry[];
  /** Summaries of it, that were taken back: oldest first. */
  readonly compactions: readonly StoredCompaction[];
}

/** Where a text of the memory stands. */
export type MemoryPlace = Pick<RememberedVersion, "owner" | "label" | "key">;

/** True for an entry of a scope that blocks show, and none of them may write. */
export function isReadOnly(blocks: readonly LiveBlock[], { owner, label, key }: MemoryPlace): boolean {
  if (key === null) return false;
  const places = blocks
    .flatMap(({ entryPlaces }) => entryPlaces)
    .filter(({ scope, entries }) => {
      const isOwn = typeof scope === "object" ? "key" in owner && owner.key === scope.key : scope in owner;
      return isOwn && entries.label === label;
    });
  return places.length > 0 && places.every(({ writable }) => !writable);
}
