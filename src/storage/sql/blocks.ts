import { StemmaError } from "../../errors.js";
import { estimateStringTokens } from "../../model/tokens.js";
import type { BlockKey, StoredBlock } from "../contract.js";
import { first, type Operation, run } from "./operation.js";
import { isoNow } from "./session-row.js";

/** See `BlockStore.get`. */
export function* readBlock(key: BlockKey): Operation<StoredBlock | null> {
  const row = yield* first<StoredBlock>(
    "SELECT content, version FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?",
    key.sessionId,
    key.kind,
    key.label,
  );
  return row === undefined ? null : { content: row.content, version: Number(row.version) };
}

/** See `BlockStore.set`. */
export function* writeBlock(
  key: BlockKey,
  content: string,
  expectedVersion: number | undefined,
): Operation<StoredBlock> {
  const version = (yield* readBlock(key))?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== version) {
    const message = `Block "${key.label}" is at version ${version}, not ${expectedVersion}: read it again, then write.`;
    throw new StemmaError("BLOCK_CONFLICT", { label: key.label, expectedVersion, version }, message);
  }
  return yield* storeBlock(key, { content, version: version + 1 });
}

/** See `BlockStore.append`. */
export function* appendBlock(key: BlockKey, text: string, maxTokens: number): Operation<StoredBlock> {
  const block = yield* readBlock(key);
  const content = (block?.content ?? "") + text;
  assertBudget(key.label, content, maxTokens);
  return yield* storeBlock(key, { content, version: (block?.version ?? 0) + 1 });
}

/** See `BlockStore.delete`. */
export function* deleteBlock(key: BlockKey): Operation<void> {
  yield* run(
    "DELETE FROM cf_agents_context_blocks WHERE session_id = ? AND kind = ? AND label = ?",
    key.sessionId,
    key.kind,
    key.label,
  );
}

/** Errors: `BLOCK_OVER_BUDGET`. */
export function assertBudget(label: string, content: string, maxTokens: number): void {
  const tokens = estimateStringTokens(content);
  if (tokens <= maxTokens) return;
  const message = `Block "${label}" would hold ${tokens} tokens of at most ${maxTokens}. Shorten it, or replace what is no longer needed.`;
  throw new StemmaError("BLOCK_OVER_BUDGET", { label, tokens, maxTokens }, message);
}

function* storeBlock(key: BlockKey, block: StoredBlock): Operation<StoredBlock> {
  yield* run(
    `INSERT INTO cf_agents_context_blocks (session_id, kind, label, content, version, updated_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (session_id, kind, label)
     DO UPDATE SET content = excluded.content, version = excluded.version, updated_at = excluded.updated_at`,
    key.sessionId,
    key.kind,
    key.label,
    block.content,
    block.version,
    isoNow(),
  );
  return block;
}
