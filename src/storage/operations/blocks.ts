import { StemmaError } from "../../errors.js";
import { assertBudget } from "../../model/budget.js";
import { appendText } from "../../model/text.js";
import type { BlockKey, ReplaceBlockOptions, StoredBlock, StoredVersion, VersionOptions } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, count, first, type Operation, run } from "../engine/operation.js";
import { UPGRADED_ROWS } from "../session-id.js";
import { dateSession, isoNow } from "./session-head.js";
import { upgradedLabel } from "./upgraded-rows.js";
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

/** What is read of a block's row. */
export interface BlockRow extends StoredBlock {
  readonly updated_at: string;
}

// The session's own comes before one of an upgraded database. Sorting them here costs the engine no rows.
function* findBlock(key: BlockKey): Operation<BlockRow | undefined> {
  const rows = yield* all<BlockRow & { session_id: string }>(
    `SELECT session_id, content, version, updated_at FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = ? AND label = ? OR session_id = ? AND kind = 'block' AND label = ?`,
    key.sessionId,
    key.kind,
    key.label,
    UPGRADED_ROWS,
    upgradedLabel(key),
  );
  return rows.find(({ session_id }) => session_id !== UPGRADED_ROWS) ?? rows[0];
}

/** A block as it is before a write. */
export interface OpenBlock {
  readonly block: StoredBlock | null;
  /** The write finds a row of its own. */
  readonly hasRow: boolean;
  /** The present version, where it is not among those that are kept. */
  readonly unrecorded: StoredVersion | null;
}

/** Reads a block that is written next. */
export function* openBlock(sql: Dialect, key: BlockKey): Operation<OpenBlock> {
  const own = yield* first<BlockRow & { recorded: number | null }>(
    `SELECT content, version, updated_at,
       (SELECT v.version FROM assistant_versions v
        WHERE v.session_id = ? AND v.kind = b.kind AND v.label = b.label AND v.key = '' AND v.version = b.version) AS recorded
     FROM cf_agents_context_blocks b WHERE b.session_id = ? AND b.kind = ? AND b.label = ?${sql.forUpdate}`,
    key.sessionId,
    key.sessionId,
    key.kind,
    key.label,
  );
  const row = own ?? (yield* findBlock(key));
  if (row === undefined) return { block: null, hasRow: false, unrecorded: null };
  const block = { content: row.content, version: Number(row.version) };
  const isRecorded = own !== undefined && own.recorded !== null;
  return {
    block,
    hasRow: own !== undefined,
    unrecorded: isRecorded ? null : unrecorded(block.version, block.content, row.updated_at),
  };
}

/** See `BlockStore.set`. */
export function* writeBlock(
  sql: Dialect,
  key: BlockKey,
  content: string,
  { expectedVersion, version: given, updatedAt }: Omit<ReplaceBlockOptions, keyof VersionOptions>,
  note: VersionNote,
): Operation<StoredBlock> {
  yield* dateSession(sql, key.sessionId);
  const open = yield* openBlock(sql, key);
  const version = open.block?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== version) {
    const message = `Block "${key.label}" is at version ${version}, not ${expectedVersion}: read it again, then write.`;
    throw new StemmaError("BLOCK_CONFLICT", { label: key.label, expectedVersion, version }, message);
  }
  return yield* storeBlock(key, content, open, note, { version: given, updatedAt });
}

/** See `BlockStore.append`. */
export function* appendBlock(
  sql: Dialect,
  key: BlockKey,
  text: string,
  maxTokens: number,
  note: VersionNote,
): Operation<StoredBlock> {
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

/** Removes a block without its versions, or a prompt. Gives whether it was there. */
export function* removeBlock(key: BlockKey): Operation<boolean> {
  const query = `DELETE FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = ? AND label = ? OR session_id = ? AND kind = 'block' AND label = ?`;
  return (yield* count(query, [key.sessionId, key.kind, key.label, UPGRADED_ROWS, upgradedLabel(key)])) > 0;
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

/** Writes a block as it is to be, without a word of it in its history. */
export function* putBlock(
  key: BlockKey,
  block: StoredBlock,
  hasRow: boolean,
  updatedAt: string = isoNow(),
): Operation<void> {
  // A first row is inserted and nothing else: of two writers that saw none, one must fail and see the other's.
  const write = !hasRow
    ? "INSERT INTO cf_agents_context_blocks (content, version, updated_at, session_id, kind, label) VALUES (?, ?, ?, ?, ?, ?)"
    : `UPDATE cf_agents_context_blocks SET content = ?, version = ?, updated_at = ?
         WHERE session_id = ? AND kind = ? AND label = ?`;
  yield* run(write, block.content, block.version, updatedAt, key.sessionId, key.kind, key.label);
}
