import type { BlockKey, EntryScope } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, column, type Operation, run, type SqlValue } from "../../engine/operation.js";
import { isScope, UPGRADED_ROWS } from "../../sql/session-id.js";

/**
 * Blocks and entries that `agents` wrote stand as they were, below a session id that no session has. A key that holds
 * nothing yet is read from there; its first write is its own. So the program that wrote a row finds it, whichever
 * sessions its label could mean, and what is written since stays apart.
 */

const OLD_PROMPT = "_system_prompt";

/** The label under which `agents` kept a block or a prompt. */
export function upgradedLabel({ sessionId, kind, label, upgradedLabel }: BlockKey): string {
  if (upgradedLabel !== undefined) return upgradedLabel;
  const name = kind === "prompt" ? OLD_PROMPT : label;
  return sessionId === "" ? name : `${name}_${sessionId}`;
}

/** A condition on entries `e`: those of the scope, and those of `agents` whose key it did not write itself, where it is a session's. */
export function inScope(
  { layout }: Dialect,
  { sessionId, label }: EntryScope,
): {
  where: string;
  values: SqlValue[];
  /** Those whose entries they are. */
  sessionIds: string[];
} {
  // Tables that hold such rows are not spread.
  if (isScope(sessionId) || layout === "spread") {
    return { where: "(e.session_id = ? AND e.label = ?)", values: [sessionId, label], sessionIds: [sessionId] };
  }
  const where = `(e.session_id = ? AND e.label = ? OR e.session_id = ? AND e.label = ? AND NOT EXISTS (
    SELECT 1 FROM cf_agents_search_entries own WHERE own.session_id = ? AND own.label = e.label AND own.key = e.key))`;
  const values = [sessionId, label, UPGRADED_ROWS, label, sessionId];
  return { where, values, sessionIds: [sessionId, UPGRADED_ROWS] };
}

/** Finds entries `e` of every label that are a session's. */
export function ofOwner({ layout }: Dialect, sessionId: string): { where: string; values: SqlValue[] } {
  if (isScope(sessionId) || layout === "spread") return { where: "e.session_id = ?", values: [sessionId] };
  const where = `e.session_id = ? OR e.session_id = ? AND NOT EXISTS (
    SELECT 1 FROM cf_agents_search_entries own WHERE own.session_id = ? AND own.label = e.label AND own.key = e.key)`;
  return { where, values: [sessionId, UPGRADED_ROWS, sessionId] };
}

/** Makes the blocks that `agents` kept for a session its own; what it wrote itself since stays. */
export function* adoptBlocks(sessionId: string): Operation<void> {
  for (const label of yield* labelsOf(sessionId)) yield* adopt(label, sessionId);
}

/** The blocks that `agents` kept for a session, by the labels that they have there, with `columns` of their rows. */
export function* upgradedBlocks<Row>(sessionId: string, columns: string): Operation<(Row & { label: string })[]> {
  if (isScope(sessionId)) return [];
  const found: (Row & { label: string })[] = [];
  for (const upgraded of yield* labelsOf(sessionId)) {
    const label = nameOf(upgraded, sessionId);
    if (label === OLD_PROMPT) continue;
    const query = `SELECT ${columns} FROM cf_agents_context_blocks WHERE session_id = ? AND kind = 'block' AND label = ?`;
    for (const row of yield* all<Row>(query, UPGRADED_ROWS, upgraded)) found.push({ ...row, label });
  }
  return found;
}

// The label that a block of `agents` has in a session.
function nameOf(upgraded: string, sessionId: string): string {
  return sessionId === "" ? upgraded : upgraded.slice(0, -sessionId.length - 1);
}

/**
 * Removes what `agents` kept for a session. A label can be the name of a block of several sessions: each of the others takes
 * it over before. Gives how many there were.
 */
export function* removeUpgradedBlocks(sessionId: string): Operation<number> {
  const labels = yield* labelsOf(sessionId);
  if (labels.length === 0) return 0;
  const others = yield* namedSessions();
  others.delete(sessionId);
  for (const label of labels) {
    for (const other of owners(label, others)) yield* adopt(label, other);
    yield* run("DELETE FROM cf_agents_context_blocks WHERE session_id = ? AND label = ?", UPGRADED_ROWS, label);
  }
  return labels.length;
}

// The labels that a session's id ends; of the unnamed session those that no session's id ends.
function* labelsOf(sessionId: string): Operation<string[]> {
  const select = "SELECT label FROM cf_agents_context_blocks WHERE session_id = ?";
  if (sessionId !== "") {
    const end = `_${sessionId}`;
    const ends = `${select} AND substr(label, length(label) - ? + 1) = ?`;
    return yield* column<string>(ends, UPGRADED_ROWS, [...end].length, end);
  }
  const labels = yield* column<string>(select, UPGRADED_ROWS);
  const others = labels.length === 0 ? new Set<string>() : yield* namedSessions();
  return labels.filter((label) => owners(label, others).length === 0);
}

function* namedSessions(): Operation<Set<string>> {
  return new Set(yield* column<string>("SELECT id FROM assistant_sessions WHERE id <> ''"));
}

function owners(label: string, sessions: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (let at = label.indexOf("_", 1); at > 0; at = label.indexOf("_", at + 1)) {
    if (sessions.has(label.slice(at + 1))) found.push(label.slice(at + 1));
  }
  return found;
}

function* adopt(upgraded: string, sessionId: string): Operation<void> {
  const name = nameOf(upgraded, sessionId);
  const isPrompt = name === OLD_PROMPT;
  const insertion = `INSERT INTO cf_agents_context_blocks (session_id, kind, label, content, version, updated_at)
     SELECT ?, ?, ?, content, version, updated_at FROM cf_agents_context_blocks WHERE session_id = ? AND kind = 'block' AND label = ?
     ON CONFLICT DO NOTHING`;
  yield* run(insertion, sessionId, isPrompt ? "prompt" : "block", isPrompt ? "" : name, UPGRADED_ROWS, upgraded);
}
