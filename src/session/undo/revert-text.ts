import { takenBack } from "../../model/taken-back.js";
import {
  type BlockKey,
  DEFAULT_KEPT_VERSIONS,
  type EntryScope,
  type KeptWrite,
  type MemoryOwner,
  type RememberedVersion,
  type Store,
  type StoredVersion,
} from "../../storage/contract.js";
import type { RevertedText } from "./reverted.js";

/** A text without what some of its versions did, and the write that makes it so; null where there is nothing to write. */
export interface RevertedWrite {
  readonly text: RevertedText & { readonly key: string | null };
  readonly write: KeptWrite | null;
}

/** Versions of one text that came of a message. */
export interface Written {
  readonly owner: MemoryOwner;
  readonly label: string;
  readonly key: string | null;
  /** Oldest first. */
  readonly versions: readonly RememberedVersion[];
  /** The latest version that undid some of them; 0 for none. */
  readonly undone: number;
}

/** Of all versions of a text that name a message, those that are not there to undo others. Null where there are none. */
export function writtenOf(all: readonly RememberedVersion[]): Written | null {
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
export async function revertText(store: Store, origin: RevertOrigin, written: Written): Promise<RevertedWrite | null> {
  const { owner, label, key } = written;
  const place = placeOf(owner, origin.sessionId, label);
  return key === null ? revertBlock(store, place, origin, written) : revertEntry(store, place, key, origin, written);
}

export interface RevertOrigin {
  readonly sessionId: string;
  readonly messageId: string;
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
  const found = withoutVersions(before, written, versions);
  const after = found === undefined ? before : found;
  if (after === before && written.undone > 0) return null;
  const text = described(written, before, after, found !== undefined);
  const options = { ...noted(origin, written, versions), expectedContent: before };
  const write = { entries, key, content: after, value: present?.value, options };
  return { text, write: after === before ? null : write };
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
