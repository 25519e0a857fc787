import { appendText, assertBudget, isStorableText, StemmaError } from "@stemma/model";
import type {
  BlockKey,
  ReplaceBlockOptions,
  StoredBlock,
  StoredVersion,
  VersionOptions,
} from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, count, first, type Operation, run } from "../../engine/operation.js";
import { UPGRADED_ROWS } from "../../sql/session-id.js";
import { assertStorable, assertTimes, assertVersionNumber } from "../assert-storable.js";
import { upgradedLabel } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { dateSession } from "../registry/sessions.js";
import {
  keepVersion,
  newVersion,
  readVersions,
  removeVersions,
  unrecorded,
  type VersionKey,
  type VersionNote,
} from "./versions.js";
/** The operation behind `BlockStore.get`. */
export function* readBlock(key: BlockKey): Operation<StoredBlock | null> {
  const row = yield* findBlock(key);
  return row === undefined ? null : { content: row.content, version: Number(row.version) };
}

/** The operation behind `BlockStore.set`. */
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

/** The operation behind `BlockStore.append`. */
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

/** The operation behind `BlockStore.versions`. */
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

/** The operation behind `BlockStore.delete`. */
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

export interface BlockRow extends StoredBlock {
  readonly updated_at: string;
}

interface FoundBlock extends StoredBlock {
  readonly session_id: string;
  readonly label: string;
}

/** How many blocks a statement reads: between two, others go on. */
const AT_ONCE = 100;

/** The session's own comes before one of an upgraded database. Sorting them here costs the engine no rows. */
function* findBlock(key: BlockKey): Operation<BlockRow | undefined> {
  const { sessionId, kind, label } = key;
  const query = `SELECT session_id, content, version, updated_at FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = ? AND label = ? OR session_id = ? AND kind = 'block' AND label = ?`;
  const values = [sessionId, kind, label, UPGRADED_ROWS, upgradedLabel(key)];
  const rows = yield* all<BlockRow & { session_id: string }>(query, ...values);
  return rows.find(({ session_id }) => session_id !== UPGRADED_ROWS) ?? rows[0];
}

/** The operation behind `BlockStore.getMany`; `owner` stands for whom the scope of the keys means. */
export function* findBlocks(
  { textTable }: Dialect,
  owner: string,
  keys: readonly BlockKey[],
): Operation<(StoredBlock | null)[]> {
  const select = `SELECT b.session_id, b.label, b.content, b.version
     FROM ${textTable} AS g CROSS JOIN cf_agents_context_blocks b WHERE b.session_id = ? AND b.kind = ? AND b.label = g.text`;
  // What no column keeps, none holds.
  const texts = (labels: string[]) => JSON.stringify(labels.filter(isStorableText));
  const nameOf = (holder: string, label: string) => `${holder}\0${label}`;
  const found: (StoredBlock | null)[] = [];
  for (let start = 0; start < keys.length; start += AT_ONCE) {
    const some = keys.slice(start, start + AT_ONCE).map((key) => ({ ...key, sessionId: owner }));
    const own = [texts(some.map(({ label }) => label)), owner, some[0]?.kind ?? null];
    const upgraded = [texts(some.map(upgradedLabel)), UPGRADED_ROWS, "block"];
    const rows = yield* all<FoundBlock>(`${select} UNION ALL ${select}`, ...own, ...upgraded);
    const blocks = new Map(
      rows.map(({ session_id, label, content, version }) => {
        return [nameOf(session_id, label), { content, version: Number(version) }];
      }),
    );
    for (const key of some) {
      const block =
        blocks.get(nameOf(owner, key.label)) ?? blocks.get(nameOf(UPGRADED_ROWS, upgradedLabel(key))) ?? null;
      found.push(block);
    }
  }
  return found;
}

/** A block as it is before a write. */
interface OpenBlock {
  readonly block: StoredBlock | null;
  /** The write finds a row of its own. */
  readonly hasRow: boolean;
  /** The present version, where it is not among those that are kept. */
  readonly unrecorded: StoredVersion | null;
}

/** Reads a block that is written next. */
export function* openBlock(sql: Dialect, key: BlockKey): Operation<OpenBlock> {
  const { sessionId, kind, label } = key;
  const query = `SELECT content, version, updated_at,
       (SELECT v.version FROM assistant_versions v
        WHERE v.session_id = ? AND v.kind = b.kind AND v.label = b.label AND v.key = '' AND v.version = b.version) AS recorded
     FROM cf_agents_context_blocks b WHERE b.session_id = ? AND b.kind = ? AND b.label = ?${sql.forUpdate}`;
  const own = yield* first<BlockRow & { recorded: number | null }>(query, sessionId, sessionId, kind, label);
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

/** Removes a block without its versions, or a prompt. Gives whether it was there. */
export function* removeBlock(key: BlockKey): Operation<boolean> {
  const query = `DELETE FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = ? AND label = ? OR session_id = ? AND kind = 'block' AND label = ?`;
  return (yield* count(query, key.sessionId, key.kind, key.label, UPGRADED_ROWS, upgradedLabel(key))) > 0;
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
