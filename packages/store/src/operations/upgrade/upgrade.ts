import {
  type EncodedMessage,
  estimateMessageTokens,
  foreignContent,
  isTooDeep,
  measureMessage,
  summaryMessage,
} from "@stemma/model";
import type { Dialect } from "../../engine/dialect.js";
import { all, first, insert, type Operation, OR_KEEP, run } from "../../engine/operation.js";
import { UPGRADED_ROWS } from "../../sql/session-id.js";
import { insertRow } from "../messages/messages.js";
import { findSegments } from "../path/path.js";
import {
  findPosition,
  floorOf,
  insertSession,
  isoNow,
  type MessagePosition,
  nextPosition,
  openSessionHead,
} from "../registry/session-head.js";

/**
 * Databases that `agents` wrote, up to 0.22, have tables of the same names. They are renamed before the present tables
 * are made, and dropped when every row has been copied; rows that are there already are not copied again, so an upgrade
 * that was cut off goes on where it stopped.
 */
export const OLD_PREFIX = "agents_before_upgrade_";

/** The tables, and a column of each that only the present one has. */
export const OLD_TABLES = [
  { name: "assistant_messages", added: "branch" },
  { name: "assistant_compactions", added: "from_n" },
  { name: "assistant_sessions", added: "no" },
  { name: "cf_agents_context_blocks", added: "kind" },
  { name: "cf_agents_search_entries", added: "session_id" },
];

/** Renames the tables that lack the columns of the present ones. */
export function* setAsideAgentsTables(sql: Dialect): Operation<void> {
  for (const { name, added } of OLD_TABLES) {
    const columns = yield* sql.columns(name);
    if (columns.length === 0 || columns.includes(added)) continue;
    const query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL";
    const indexes = yield* all<{ name: string }>(query, name);
    for (const index of indexes) yield* run(`DROP INDEX "${index.name.replaceAll('"', '""')}"`);
    yield* run(`ALTER TABLE ${name} RENAME TO ${OLD_PREFIX}${name}`);
  }
  for (const [name, kept] of [
    ["assistant_fts", "id"],
    ["cf_agents_search_fts", "label"],
  ] as const) {
    if ((yield* sql.columns(name)).includes(kept)) yield* run(`DROP TABLE ${name}`);
  }
}

/** Whether a table was set aside. */
function* hasOldTable(sql: Dialect, table: string): Operation<boolean> {
  return (yield* sql.columns(OLD_PREFIX + table)).length > 0;
}

/** Old tables hold SQLite's own form, which is UTC, or milliseconds. */
function isoFromSql(time: string | number | null | undefined): string | null {
  if (time === null || time === undefined) return null;
  const text =
    typeof time === "string" && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(time) ? `${time.replace(" ", "T")}Z` : time;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** Copies the rows that were set aside, then drops their tables. */
export function* upgradeAgentsTables(sql: Dialect): Operation<void> {
  yield* copySessions(sql);
  yield* copyMessages(sql);
  yield* copyCompactions(sql);
  yield* copyBlocks(sql);
  yield* copyEntries(sql);
  for (const { name } of OLD_TABLES) yield* run(`DROP TABLE IF EXISTS ${OLD_PREFIX}${name}`);
}

function* copySessions(sql: Dialect): Operation<void> {
  if (!(yield* hasOldTable(sql, "assistant_sessions"))) return;
  const columns = yield* sql.columns(`${OLD_PREFIX}assistant_sessions`);
  const texts = ["parent_session_id", "model", "source", "end_reason"].filter((name) => columns.includes(name));
  const numbers = ["input_tokens", "output_tokens", "estimated_cost"].filter((name) => columns.includes(name));
  const counted = numbers.map((name) => `coalesce(${name}, 0) AS ${name}`);
  const query = `SELECT ${["id", "name", ...texts, ...counted, "created_at", "updated_at"].join(", ")}
     FROM ${OLD_PREFIX}assistant_sessions ORDER BY created_at, rowid`;
  const rows = yield* all<Record<string, string | number | null>>(query);
  for (const row of rows) {
    const created_at = isoFromSql(row.created_at) ?? isoNow();
    const updated_at = isoFromSql(row.updated_at) ?? isoNow();
    yield* insertSession(sql, { ...row, created_at, updated_at });
  }
}

// As they are: which session a label means is for the program that wrote it to say.
function* copyBlocks(sql: Dialect): Operation<void> {
  if (!(yield* hasOldTable(sql, "cf_agents_context_blocks"))) return;
  const query = `SELECT label, content, updated_at FROM ${OLD_PREFIX}cf_agents_context_blocks ORDER BY rowid`;
  const rows = yield* all<{ label: string; content: string; updated_at: string | null }>(query);
  for (const row of rows) {
    const updated_at = isoFromSql(row.updated_at) ?? isoNow();
    const block = { session_id: UPGRADED_ROWS, kind: "block", ...row, version: 1, updated_at };
    yield* insert("cf_agents_context_blocks", block, OR_KEEP);
  }
}

function* copyEntries(sql: Dialect): Operation<void> {
  if (!(yield* hasOldTable(sql, "cf_agents_search_entries"))) return;
  const rows = yield* all<{ label: string; key: string; content: string; created_at: string; updated_at: string }>(
    `SELECT label, key, content, created_at, updated_at FROM ${OLD_PREFIX}cf_agents_search_entries ORDER BY rowid`,
  );
  for (const row of rows) {
    const query = "SELECT 1 FROM cf_agents_search_entries WHERE session_id = ? AND label = ? AND key = ?";
    const known = yield* first(query, UPGRADED_ROWS, row.label, row.key);
    if (known !== undefined) continue;
    const created_at = isoFromSql(row.created_at) ?? isoNow();
    const updated_at = isoFromSql(row.updated_at) ?? isoNow();
    yield* insert("cf_agents_search_entries", { session_id: UPGRADED_ROWS, ...row, created_at, updated_at });
  }
}

interface OldMessage {
  readonly rowid: number;
  readonly id: string;
  readonly session_id: string;
  readonly parent_id: string | null;
  readonly created_at: string | null;
}

/** Copies the messages that were set aside. A row may have been written before its parent; one whose parent is gone becomes a root, as it was read before. */
export function* copyMessages(sql: Dialect): Operation<void> {
  if (!(yield* hasOldTable(sql, "assistant_messages"))) return;
  const rows = yield* all<OldMessage>(
    // A row could be written without an id.
    `SELECT rowid AS rowid, coalesce(id, 'agents-row-' || rowid) AS id, session_id, parent_id, created_at
     FROM ${OLD_PREFIX}assistant_messages ORDER BY session_id, rowid`,
  );
  const known = new Map(rows.map((row) => [`${row.session_id}\0${row.id}`, row]));
  const done = new Set<OldMessage>();
  for (const row of rows) {
    const waiting: OldMessage[] = [];
    for (let next: OldMessage | undefined = row; next !== undefined && !done.has(next); ) {
      done.add(next);
      waiting.push(next);
      next = next.parent_id === null ? undefined : known.get(`${row.session_id}\0${next.parent_id}`);
    }
    for (const ready of waiting.reverse()) yield* copyMessage(sql, ready);
  }
  yield* keepLeaves(sql, rows);
}

// The leaf was the latest row that no row of its session named as its parent; the last written where times were equal.
function* keepLeaves(sql: Dialect, rows: readonly OldMessage[]): Operation<void> {
  const parents = new Set(rows.map((row) => `${row.session_id}\0${row.parent_id}`));
  const leaves = new Map<string, OldMessage>();
  for (const row of rows) {
    const latest = leaves.get(row.session_id);
    const isLeaf = !parents.has(`${row.session_id}\0${row.id}`);
    if (isLeaf && (latest === undefined || (row.created_at ?? "") >= (latest.created_at ?? ""))) {
      leaves.set(row.session_id, row);
    }
  }
  for (const { session_id, id } of leaves.values()) {
    const position = yield* findPosition(session_id, id);
    const head = yield* openSessionHead(sql, session_id);
    if (position === null || position.rowId === head.newest?.rowId) continue;
    yield* run("UPDATE assistant_sessions SET leaf = ? WHERE id = ?", position.rowId, session_id);
  }
}

function* copyMessage(sql: Dialect, old: OldMessage): Operation<void> {
  const query = `SELECT role, content, created_at FROM ${OLD_PREFIX}assistant_messages WHERE rowid = ?`;
  const row = yield* first<{ role: string; content: string; created_at: string | null }>(query, old.rowid);
  if (row === undefined) return;
  const known = yield* findPosition(old.session_id, old.id);
  const parent: MessagePosition | null =
    old.parent_id === null ? null : yield* findPosition(old.session_id, old.parent_id);
  const head = yield* openSessionHead(sql, old.session_id);
  const position = known ?? (yield* insertRow(sql, head, head.newest, encodeOld(sql, old.id, row), parent));
  const written = isoFromSql(row.created_at);
  if (position === null || written === null) return;
  const update = "UPDATE assistant_messages SET created_at = ? WHERE session_id = ? AND n = ?";
  yield* run(update, written, old.session_id, position.rowId);
}

// Content is kept to the letter, also where this program would not have written it.
function encodeOld({ search }: Dialect, id: string, row: { role: string; content: string }): EncodedMessage {
  const read = foreignContent(row.content);
  const base = { id, role: row.role, content: read?.content ?? row.content, media: [] };
  if (read === null || isTooDeep(read.message)) return { ...base, text: "", document: "", tokens: 0, createdAt: null };
  return { ...base, ...measureMessage(read.message, search?.tools === true) };
}

interface OldCompaction {
  readonly id: string;
  readonly session_id: string;
  readonly summary: string;
  readonly from_message_id: string;
  readonly to_message_id: string;
  readonly created_at: string | null;
}

/** A compaction whose range is gone keeps its words and covers nothing. */
export function* copyCompactions(sql: Dialect): Operation<void> {
  if (!(yield* hasOldTable(sql, "assistant_compactions"))) return;
  const query = `SELECT id, session_id, summary, from_message_id, to_message_id, created_at
     FROM ${OLD_PREFIX}assistant_compactions ORDER BY created_at, rowid`;
  const rows = yield* all<OldCompaction>(query);
  for (const row of rows) {
    const { rows: own, sessionNumber } = yield* openSessionHead(sql, row.session_id);
    const from = yield* findPosition(row.session_id, row.from_message_id);
    const to = yield* findPosition(row.session_id, row.to_message_id);
    const path = to === null ? [] : yield* findSegments(own, to);
    const isOnPath =
      from !== null && path.some((s) => s.branch === from.branch && s.lo <= from.rowId && from.rowId <= s.hi);
    const findLast = "SELECT max(n) AS n FROM assistant_compactions WHERE session_id = ?";
    const last = yield* first<{ n: number | null }>(findLast, row.session_id);
    const compaction = {
      ...row,
      n: nextPosition(sessionNumber, last?.n ?? floorOf(sessionNumber)),
      created_at: isoFromSql(row.created_at) ?? isoNow(),
      from_n: isOnPath ? from.rowId : null,
      to_n: isOnPath ? (to?.rowId ?? null) : null,
      tokens: estimateMessageTokens(summaryMessage(row)),
    };
    yield* insert("assistant_compactions", compaction, OR_KEEP);
    // The totals were written before the compaction was there.
    const update =
      "UPDATE assistant_sessions SET stale = (SELECT max(n) FROM assistant_messages WHERE session_id = ?) WHERE id = ?";
    yield* run(update, row.session_id, row.session_id);
  }
}
