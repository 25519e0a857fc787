import { StemmaError } from "@stemma/model";
import {
  type BlockKey,
  type EntryScope,
  type ListedBlock,
  type ListedEntry,
  type MemoryScope,
  promptKey,
  type Store,
  type StoredBlock,
  type StoredRecord,
  type StoredVersion,
} from "../contract/store.js";
import { EVERY } from "../operations/memory/entry-views.js";
import { listAll } from "./list-all.js";

/** One thing that is kept beside the messages of a session, for a user or under a key. Versions: the newest first. */
export type KeptItem =
  | { readonly kind: "block"; readonly block: ListedBlock; readonly versions: readonly StoredVersion[] }
  | { readonly kind: "prompt"; readonly block: StoredBlock }
  | {
      readonly kind: "entry";
      readonly label: string;
      readonly entry: ListedEntry;
      readonly versions: readonly StoredVersion[];
    }
  /** An entry that was deleted, and can be restored. */
  | {
      readonly kind: "removed";
      readonly label: string;
      readonly key: string;
      readonly versions: readonly StoredVersion[];
    }
  | { readonly kind: "record"; readonly label: string; readonly record: StoredRecord };

/** All that is kept for a session, its user or a key, one after the other. Errors: `USER_REQUIRED`. */
export async function* readKept(store: Store, scope: MemoryScope): AsyncGenerator<KeptItem> {
  const { blocks, entries, records } = store;
  for (const block of await blocks.list(scope)) {
    yield { kind: "block", block, versions: await blocks.versions(blockKey(scope, block.label)) };
  }
  for (const { label } of await entries.labels(scope)) {
    for await (const entry of listAll((page) => entries.list({ ...scope, label }, { ...EVERY, ...page }), keyOf)) {
      yield { kind: "entry", label, entry, versions: await entries.versions({ ...scope, label }, entry.key) };
    }
  }
  for (const { label, key } of await entries.removed(scope)) {
    yield { kind: "removed", label, key, versions: await entries.versions({ ...scope, label }, key) };
  }
  if (!isSession(scope)) return;
  const { sessionId } = scope;
  const prompt = await blocks.get(promptKey(sessionId));
  if (prompt !== null) yield { kind: "prompt", block: prompt };
  for (const label of await records.labels(sessionId)) {
    const all = listAll((page) => records.list({ sessionId, label }, page), keyOf);
    for await (const record of all) yield { kind: "record", label, record };
  }
}

/** Writes what was read elsewhere, unless it is there. Resolves to whether it was written. Errors: those of the writes. */
export async function writeKept(store: Store, scope: MemoryScope, item: KeptItem): Promise<boolean> {
  try {
    return await writeNew(store, scope, item);
  } catch (error) {
    // Another writer was faster.
    if (StemmaError.isInstance(error) && CONFLICTS.has(error.code)) return false;
    throw error;
  }
}

const CONFLICTS: ReadonlySet<string> = new Set(["RECORD_CONFLICT", "BLOCK_CONFLICT", "ENTRY_CONFLICT"]);

async function writeNew(store: Store, scope: MemoryScope, item: KeptItem): Promise<boolean> {
  const { blocks, entries, records } = store;
  if (item.kind === "record") {
    const { key, value, version, expiresAt } = item.record;
    const recordScope = { sessionId: scope.sessionId, label: item.label };
    if ((await records.get(recordScope, key)) !== null) return false;
    await records.set(recordScope, key, value, { version, expiresAt: expiresAt ?? undefined, expectedVersion: 0 });
    return true;
  }
  if (item.kind === "entry") return writeEntry(store, { ...scope, label: item.label }, item.entry, item.versions);
  if (item.kind === "removed") {
    const entryScope = { ...scope, label: item.label };
    if ((await entries.versions(entryScope, item.key)).length > 0) return false;
    await entries.importVersions(entryScope, item.key, item.versions);
    return true;
  }
  const key = item.kind === "prompt" ? promptKey(scope.sessionId) : blockKey(scope, item.block.label);
  if ((await blocks.get(key)) !== null) return false;
  const { content, version } = item.block;
  const updatedAt = item.kind === "block" ? item.block.updatedAt : undefined;
  await blocks.set(key, content, { version, updatedAt, keepVersions: 0, expectedVersion: 0 });
  if (item.kind === "block") await blocks.importVersions(key, item.versions);
  return true;
}

/**
 * Brings along the versions of an item whose present text is there already, as `known` says. Resolves to false where `known` is
 * another text.
 */
export async function completeKept(
  { blocks, entries }: Store,
  scope: MemoryScope,
  item: KeptItem,
  known: KeptItem,
): Promise<boolean> {
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  if (item.kind === "block" && known.kind === "block" && isSame(item.block, known.block)) {
    await blocks.importVersions(blockKey(scope, item.block.label), item.versions);
    return true;
  }
  if (item.kind === "entry" && known.kind === "entry" && isSame(item.entry, known.entry)) {
    await entries.importVersions({ ...scope, label: item.label }, item.entry.key, item.versions);
    return true;
  }
  return false;
}

async function writeEntry(
  { entries }: Store,
  scope: EntryScope,
  { createdAt, updatedAt, ends, invalidatedAt: _, supersededBy: __, ...entry }: ListedEntry,
  versions: readonly StoredVersion[],
): Promise<boolean> {
  if ((await entries.get(scope, entry.key)) !== null) return false;
  await entries.set(scope, entry, { createdAt, updatedAt, ends, keepVersions: 0, expectedContent: null });
  await entries.importVersions(scope, entry.key, versions);
  return true;
}

const isSession = ({ scope = "session" }: MemoryScope) => scope === "session";

const blockKey = (scope: MemoryScope, label: string): BlockKey => ({ ...scope, kind: "block", label });

const keyOf = ({ key }: { readonly key: string }) => key;
