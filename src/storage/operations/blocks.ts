import { StemmaError } from "../../errors.js";
import { appendText } from "../../model/text.js";
import { estimateStringTokens } from "../../model/tokens.js";
import type { BlockKey, StoredBlock } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { count, first, type Operation, run } from "../engine/operation.js";
import { UPGRADED_ROWS } from "../session-id.js";
import { dateSession, isoNow } from "./session-head.js";
import { upgradedLabel } from "./upgraded-rows.js";

/** See `BlockStore.get`. */
export function* readBlock(key: BlockKey): Operation<StoredBlock | null> {
  const row = yield* first<StoredBlock>(
    `SELECT content, version FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = ? AND label = ? OR session_id = ? AND kind = 'block' AND label = ?
     ORDER BY CASE session_id WHEN ? THEN 1 ELSE 0 END LIMIT 1`,
    key.sessionId,
    key.kind,
    key.label,
    UPGRADED_ROWS,
    upgradedLabel(key),
    UPGRADED_ROWS,
  );
  return row === undefined ? null : { content: row.content, version: Number(row.version) };
}

/** The block as it is before a write, and whether the write finds a row of its own. */
export function* openBlock(sql: Dialect, key: BlockKey): Operation<{ block: StoredBlock | null; hasRow: boolean }> {
  const row = yield* first<StoredBlock>(
    `SELECT content, version FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?${sql.forUpdate}`,
    key.sessionId,
    key.kind,
    key.label,
  );
  if (row === undefined) return { block: yield* readBlock(key), hasRow: false };
  return { block: { content: row.content, version: Number(row.version) }, hasRow: true };
}

/** See `BlockStore.set`. */
export function* writeBlock(
  sql: Dialect,
  key: BlockKey,
  content: string,
  expectedVersion: number | undefined,
): Operation<StoredBlock> {
  yield* dateSession(key.sessionId);
  const { block, hasRow } = yield* openBlock(sql, key);
  const version = block?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== version) {
    const message = `Block "${key.label}" is at version ${version}, not ${expectedVersion}: read it again, then write.`;
    throw new StemmaError("BLOCK_CONFLICT", { label: key.label, expectedVersion, version }, message);
  }
  return yield* storeBlock(key, { content, version: version + 1 }, hasRow);
}

/** See `BlockStore.append`. */
export function* appendBlock(sql: Dialect, key: BlockKey, text: string, maxTokens: number): Operation<StoredBlock> {
  yield* dateSession(key.sessionId);
  const { block, hasRow } = yield* openBlock(sql, key);
  const content = appendText(block?.content ?? "", text);
  assertBudget(key.label, content, maxTokens);
  return yield* storeBlock(key, { content, version: (block?.version ?? 0) + 1 }, hasRow);
}

/** See `BlockStore.delete`. Gives whether it was there. */
export function* deleteBlock(key: BlockKey): Operation<boolean> {
  const query = `DELETE FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = ? AND label = ? OR session_id = ? AND kind = 'block' AND label = ?`;
  return (yield* count(query, [key.sessionId, key.kind, key.label, UPGRADED_ROWS, upgradedLabel(key)])) > 0;
}

/** Errors: `BLOCK_OVER_BUDGET`. */
export function assertBudget(label: string, content: string, maxTokens: number): void {
  const tokens = estimateStringTokens(content);
  if (tokens <= maxTokens) return;
  const message = `Block "${label}" would hold ${tokens} tokens of at most ${maxTokens}. Shorten it, or replace what is no longer needed.`;
  throw new StemmaError("BLOCK_OVER_BUDGET", { label, tokens, maxTokens }, message);
}

/** Writes a block that `openBlock` read. */
export function* storeBlock(key: BlockKey, block: StoredBlock, hasRow: boolean): Operation<StoredBlock> {
  // A first row is inserted and nothing else: of two writers that saw none, one must fail and see the other's.
  // A first row is inserted and nothing else: of two writers that saw none, one must fail and see the other's.
  const write = !hasRow
    ? "INSERT INTO cf_agents_context_blocks (content, version, updated_at, session_id, kind, label) VALUES (?, ?, ?, ?, ?, ?)"
    : `UPDATE cf_agents_context_blocks SET content = ?, version = ?, updated_at = ?
         WHERE session_id = ? AND kind = ? AND label = ?`;
  yield* run(write, block.content, block.version, isoNow(), key.sessionId, key.kind, key.label);
  return block;
}
