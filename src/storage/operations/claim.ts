import { appendText } from "../../model/text.js";
import type { StoredBlock } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, count, type Operation, run } from "../engine/operation.js";
import { userScope } from "../session-id.js";
import { openBlock, storeBlock } from "./blocks.js";
import { findEntry, removeEntries, storeEntry } from "./entries.js";

/** See `SessionRegistry.claim`. */
export function* claimSessions(sql: Dialect, from: string, to: string): Operation<number> {
  if (from === to) return 0;
  const sessions = yield* count("UPDATE assistant_sessions SET user_id = ? WHERE user_id = ?", [to, from]);
  yield* claimBlocks(sql, userScope(from), userScope(to));
  yield* claimEntries(sql, userScope(from), userScope(to));
  return sessions;
}

function* claimBlocks(sql: Dialect, from: string, to: string): Operation<void> {
  const blocks = yield* all<StoredBlock & { label: string }>(
    `SELECT label, content, version FROM cf_agents_context_blocks WHERE session_id = ? ORDER BY label${sql.forUpdate}`,
    from,
  );
  for (const { label, content, version } of blocks) {
    const key = { sessionId: to, kind: "block", label } as const;
    const { block, hasRow } = yield* openBlock(sql, key);
    const merged = mergeTexts(block?.content, content);
    if (merged === block?.content) continue;
    yield* storeBlock(key, { content: merged, version: block === null ? Number(version) : block.version + 1 }, hasRow);
  }
  yield* run("DELETE FROM cf_agents_context_blocks WHERE session_id = ?", from);
}

function* claimEntries(sql: Dialect, from: string, to: string): Operation<void> {
  const entries = yield* all<{ label: string; key: string; content: string }>(
    `SELECT label, key, content FROM cf_agents_search_entries WHERE session_id = ? ORDER BY n${sql.forUpdate}`,
    from,
  );
  for (const { label, key, content } of entries) {
    const scope = { sessionId: to, label };
    const known = (yield* findEntry(scope, key))?.content;
    const merged = mergeTexts(known, content);
    if (merged !== known) yield* storeEntry(sql, scope, { key, content: merged });
  }
  yield* removeEntries(sql, from);
}

// A claim that is repeated adds nothing.
function mergeTexts(own: string | undefined, other: string): string {
  if (own === undefined) return other;
  return own.includes(other) ? own : appendText(own, other);
}
