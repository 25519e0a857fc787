import { fromBase64, toBase64 } from "../../../model/base64.js";
import type { BlockKey, Store, StoredEntry, StoredVersion } from "../../../storage/contract.js";
import { readKept } from "../../../storage/kept-items.js";
import { extrasKey } from "../../session-extras.js";

/** What is kept of a session, or of a scope, beside messages. Only what there is, is there. */
export interface MemorySnapshot {
  blocks?: { kind: BlockKey["kind"]; label: string; content: string; version: number; updatedAt?: string }[];
  entries?: (StoredEntry & { label: string; createdAt?: string; updatedAt?: string })[];
  /** Of the block `label`, or of its entry `key`, the newest first. */
  versions?: { label: string; key?: string; kept: StoredVersion[] }[];
  /** Their bytes as base64. */
  records?: { label: string; key: string; value: string; version: number; expiresAt: number | null }[];
}

/** Removes the blocks and entries of a scope, which is no session. */
export async function removeScope(store: Store, id: string): Promise<void> {
  const { blocks, entries, versions } = await readMemory(store, id);
  for (const { kind, label } of blocks ?? []) await store.blocks.delete({ sessionId: id, kind, label });
  for (const { label, key } of [...(entries ?? []), ...(versions ?? [])]) {
    if (key !== undefined) await store.entries.delete({ sessionId: id, label }, key, { keepVersions: 0 });
  }
}

/** Reads what `store` keeps beside the messages of a session. */
export async function readMemory(store: Store, id: string): Promise<MemorySnapshot> {
  const found = { blocks: [], entries: [], versions: [], records: [] } as Required<MemorySnapshot>;
  const extras = extrasKey(id);
  for await (const item of readKept(store, { sessionId: id })) {
    if (item.kind === "prompt") found.blocks.push({ kind: "prompt", label: "", ...item.block });
    if (item.kind === "block") {
      // What it says stands in the state itself.
      if (item.block.label === extras.label) continue;
      found.blocks.push({ kind: "block", ...item.block });
      addVersions(found.versions, { label: item.block.label }, item.versions);
    }
    if (item.kind === "entry") {
      found.entries.push({ label: item.label, ...item.entry });
      addVersions(found.versions, { label: item.label, key: item.entry.key }, item.versions);
    }
    if (item.kind === "removed") addVersions(found.versions, { label: item.label, key: item.key }, item.versions);
    if (item.kind === "record") {
      const { value, ...record } = item.record;
      found.records.push({ label: item.label, ...record, value: toBase64(value) });
    }
  }
  return Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0));
}

// What is only the present one, of which nothing is known, is told with the block itself.
function addVersions(
  list: Required<MemorySnapshot>["versions"],
  name: { label: string; key?: string },
  all: readonly StoredVersion[],
) {
  const kept = all.filter(({ author, content }, index) => index > 0 || author !== null || content === null);
  if (kept.length > 0) list.push({ ...name, kept });
}

/** Writes it into a store that does not have it yet. */
export async function writeMemory(store: Store, id: string, ours: MemorySnapshot): Promise<void> {
  for (const { kind, label, content, version, updatedAt } of ours.blocks ?? []) {
    await store.blocks.set({ sessionId: id, kind, label }, content, { version, updatedAt, keepVersions: 0 });
  }
  for (const { label, createdAt, updatedAt, ...entry } of ours.entries ?? []) {
    await store.entries.set({ sessionId: id, label }, entry, { keepVersions: 0, createdAt, updatedAt });
  }
  for (const { label, key, kept } of ours.versions ?? []) {
    if (key === undefined) await store.blocks.importVersions({ sessionId: id, kind: "block", label }, kept);
    else await store.entries.importVersions({ sessionId: id, label }, key, kept);
  }
  for (const { label, key, value, version, expiresAt } of ours.records ?? []) {
    const options = { version, expiresAt: expiresAt ?? undefined };
    await store.records.set({ sessionId: id, label }, key, fromBase64(value), options);
  }
}
