import { appendText } from "@stemma/model";
import type { StoredBlock } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, count, type Operation, run } from "../../engine/operation.js";
import { userScope } from "../../sql/session-id.js";
import { blockVersionKey, openBlock, putBlock, storeBlock } from "../memory/blocks.js";
import { findEntry, storeEntry } from "../memory/entries.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf, factOf, putEntry, removeEntries } from "../memory/entry-rows.js";
import { entryVersionKey, lastVersion, moveVersions, removeAllVersions, type VersionNote } from "../memory/versions.js";

/** The note of a claim's merges: the program wrote them, in no session. */
const CLAIMED: VersionNote = { writtenIn: null };

/** The operation behind `SessionRegistry.claim`. */
export function* claimSessions(sql: Dialect, from: string, to: string): Operation<number> {
  if (from === to) return 0;
  const update = "UPDATE assistant_sessions SET user_id = ?, changes = changes + 1 WHERE user_id = ?";
  const sessions = yield* count(update, to, from);
  yield* claimBlocks(sql, userScope(from), userScope(to));
  yield* claimEntries(sql, userScope(from), userScope(to));
  yield* removeAllVersions(userScope(from));
  return sessions;
}

function* claimBlocks(sql: Dialect, from: string, to: string): Operation<void> {
  const query = `SELECT label, content, version FROM cf_agents_context_blocks WHERE session_id = ? ORDER BY label${sql.forUpdate}`;
  const blocks = yield* all<StoredBlock & { label: string }>(query, from);
  for (const { label, content, version } of blocks) {
    const key = { sessionId: to, kind: "block", label } as const;
    const open = yield* openBlock(sql, key);
    if (open.block === null) {
      yield* putBlock(key, { content, version: Number(version) }, false);
      yield* moveVersions(blockVersionKey({ ...key, sessionId: from }), to);
      continue;
    }
    const merged = mergeTexts(open.block.content, content);
    if (merged !== open.block.content) yield* storeBlock(key, merged, open, CLAIMED);
  }
  yield* run("DELETE FROM cf_agents_context_blocks WHERE session_id = ?", from);
}

function* claimEntries(sql: Dialect, from: string, to: string): Operation<void> {
  const query = `SELECT label, ${ENTRY_COLUMNS} FROM cf_agents_search_entries WHERE session_id = ? ORDER BY n${sql.forUpdate}`;
  const entries = yield* all<EntryRow & { label: string }>(query, from);
  for (const row of entries) {
    const { label, key } = row;
    const scope = { sessionId: to, label };
    const found = yield* findEntry(sql, scope, key);
    const known = found?.content;
    // What programs wrote is no text to which another could be added.
    const isText = found?.value === undefined && row.value === null;
    const merged = known === undefined || isText ? mergeTexts(known, row.content) : known;
    if (merged === known) continue;
    if (known === undefined && (yield* lastVersion(entryVersionKey(scope, key))).number === 0) {
      yield* putEntry(sql, scope, { ...entryOf(row), fact: factOf(row) }, null);
      yield* moveVersions(entryVersionKey({ sessionId: from, label }, key), to);
    } else {
      const { value, ends, ...fact } = entryOf(row);
      // What stays keeps its own times.
      const entry = known === undefined ? { ...fact, value } : { key, value };
      yield* storeEntry(
        sql,
        scope,
        { ...entry, content: merged },
        known === undefined ? { ...CLAIMED, ends } : CLAIMED,
      );
    }
  }
  yield* removeEntries(sql, from);
}

// A claim that is repeated adds nothing.
function mergeTexts(own: string | undefined, other: string): string {
  if (own === undefined) return other;
  return own.includes(other) ? own : appendText(own, other);
}
