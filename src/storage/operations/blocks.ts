import { StemmaError } from "../../errors.js";
import { assertBudget } from "../../model/budget.js";
import { appendText } from "../../model/text.js";
import type { BlockKey, ReplaceBlockOptions, StoredBlock, StoredVersion, VersionOptions } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import { assertStorable, assertTimes, assertVersionNumber } from "./assert-storable.js";
import { findBlock, type OpenBlock, openBlock, putBlock, removeBlock } from "./block-row.js";
import { dateSession } from "./session-dates.js";
import {
  keepVersion,
  newVersion,
  readVersions,
  removeVersions,
  unrecorded,
  type VersionKey,
  type VersionNote,
} from "./versions.js";

/** See `BlockStore.get`. */
export function* readBlock(key: BlockKey): Operation<StoredBlock | null> {
  const row = yield* findBlock(key);
  return row === undefined ? null : { content: row.content, version: Number(row.version) };
}

/** See `BlockStore.set`. */
export function* writeBlock(
  sql: Dialect,
  key: BlockKey,
  content: string,
  { expectedVersion, version: given, updatedAt }: Omit<ReplaceBlockOptions, keyof VersionOptions>,
  note: VersionNote,
): Operation<StoredBlock> {
  assertBlock(key, content);
  assertTimes("A block's", { updatedAt });
  assertVersionNumber(given, "The version of a block");
  yield* dateSession(sql, key.sessionId);
  const open = yield* openBlock(sql, key);
  const version = open.block?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== version) {
    const message = `Block "${key.label}" is at version ${version}, not ${expectedVersion}: read it again, then write.`;
    throw new StemmaError("BLOCK_CONFLICT", { label: key.label, expectedVersion, version }, message);
  }
  return yield* storeBlock(key, content, open, note, { version: given, updatedAt });
}

// The label of a prompt is empty, and that of a block of a provider which was made by hand without one.
function assertBlock({ label }: BlockKey, content: string): void {
  assertStorable("A block's", { label, content });
}

/** See `BlockStore.append`. */
export function* appendBlock(
  sql: Dialect,
  key: BlockKey,
  text: string,
  maxTokens: number,
  note: VersionNote,
): Operation<StoredBlock> {
  assertBlock(key, text);
  yield* dateSession(sql, key.sessionId);
  const open = yield* openBlock(sql, key);
  const content = appendText(open.block?.content ?? "", text);
  assertBudget(key.label, content, maxTokens);
  return yield* storeBlock(key, content, open, note);
}

/** See `BlockStore.versions`. */
export function* readBlockVersions(key: BlockKey): Operation<StoredVersion[]> {
  const versions = key.kind === "prompt" ? [] : yield* readVersions(blockVersionKey(key));
  const present = yield* findBlock(key);
  if (present === undefined || versions[0]?.version === Number(present.version)) return versions;
  return [unrecorded(Number(present.version), present.content, present.updated_at), ...versions];
}

/** Where the versions of a block stand. */
export function blockVersionKey({ sessionId, label }: BlockKey): VersionKey {
  return { sessionId, kind: "block", label, key: "" };
}

/** See `BlockStore.delete`. */
export function* deleteBlock(sql: Dialect, key: BlockKey): Operation<void> {
  if ((yield* findBlock(key)) !== undefined) yield* dateSession(sql, key.sessionId);
  if (key.kind === "block") yield* removeVersions(blockVersionKey(key));
  yield* removeBlock(key);
}

/** Writes the next version of a block that `openBlock` read. */
export function* storeBlock(
  key: BlockKey,
  content: string,
  { block, hasRow, unrecorded }: OpenBlock,
  note: VersionNote,
  { version = (block?.version ?? 0) + 1, updatedAt }: Pick<ReplaceBlockOptions, "version" | "updatedAt"> = {},
): Operation<StoredBlock> {
  const next = { content, version };
  yield* putBlock(key, next, hasRow, updatedAt);
  // Where none are kept, there are some only of the time before.
  const isUnkept = note.keepVersions === 0 && (block === null || unrecorded !== null);
  if (key.kind === "prompt" || isUnkept) return next;
  const versionKey = blockVersionKey(key);
  if (unrecorded !== null) yield* keepVersion(versionKey, unrecorded, note.keepVersions);
  yield* keepVersion(versionKey, newVersion(next.version, content, note), note.keepVersions);
  return next;
}
