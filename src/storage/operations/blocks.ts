import { StemmaError } from "../../errors.js";
import { estimateStringTokens } from "../../model/tokens.js";
import type { BlockKey, StoredBlock } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { count, first, type Operation, run } from "../engine/operation.js";
import { dateSession, isoNow } from "./session-row.js";

/** See `BlockStore.get`. */
export function readBlock(key: BlockKey): Operation<StoredBlock | null> {
  return findBlock(key, "");
}

function* findBlock(key: BlockKey, forUpdate: string): Operation<StoredBlock | null> {
  const row = yield* first<StoredBlock>(
    `SELECT content, version FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?${forUpdate}`,
    key.sessionId,
    key.kind,
    key.label,
  );
  return row === undefined ? null : { content: row.content, version: Number(row.version) };
}

/** See `BlockStore.set`. */
export function* writeBlock(
  sql: Dialect,
  key: BlockKey,
  content: string,
  expectedVersion: number | undefined,
): Operation<StoredBlock> {
  yield* dateSession(key.sessionId);
  const version = (yield* findBlock(key, sql.forUpdate))?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== version) {
    const message = `Block "${key.label}" is at version ${version}, not ${expectedVersion}: read it again, then write.`;
    throw new StemmaError("BLOCK_CONFLICT", { label: key.label, expectedVersion, version }, message);
  }
  return yield* storeBlock(key, { content, version: version + 1 });
}

/** See `BlockStore.append`. */
export function* appendBlock(sql: Dialect, key: BlockKey, text: string, maxTokens: number): Operation<StoredBlock> {
  yield* dateSession(key.sessionId);
  const block = yield* findBlock(key, sql.forUpdate);
  const content = (block?.content ?? "") + text;
  assertBudget(key.label, content, maxTokens);
  return yield* storeBlock(key, { content, version: (block?.version ?? 0) + 1 });
}

/** See `BlockStore.delete`. Gives whether it was there. */
export function* deleteBlock(key: BlockKey): Operation<boolean> {
  const query = "DELETE FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?";
  return (yield* count(query, [key.sessionId, key.kind, key.label])) > 0;
}

/** Errors: `BLOCK_OVER_BUDGET`. */
export function assertBudget(label: string, content: string, maxTokens: number): void {
  const tokens = estimateStringTokens(content);
  if (tokens <= maxTokens) return;
  const message = `Block "${label}" would hold ${tokens} tokens of at most ${maxTokens}. Shorten it, or replace what is no longer needed.`;
  throw new StemmaError("BLOCK_OVER_BUDGET", { label, tokens, maxTokens }, message);
}

// A first version is inserted and nothing else: of two writers that saw no block, one must fail and see the other's.
function* storeBlock(key: BlockKey, block: StoredBlock): Operation<StoredBlock> {
  const write =
    block.version === 1
      ? "INSERT INTO cf_agents_context_blocks (content, version, updated_at, session_id, kind, label) VALUES (?, ?, ?, ?, ?, ?)"
      : `UPDATE cf_agents_context_blocks SET content = ?, version = ?, updated_at = ?
         WHERE session_id = ? AND kind = ? AND label = ?`;
  yield* run(write, block.content, block.version, isoNow(), key.sessionId, key.kind, key.label);
  return block;
}
