import type { Dialect } from "../../engine/dialect.js";
import { all, first, insert, type Operation, OR_KEEP, run } from "../../engine/operation.js";
import { UPGRADED_ROWS } from "../../session-id.js";
import { isoNow } from "../clock.js";
import { copyCompactions, copyMessages } from "./copy-messages.js";
import { hasOldTable, isoFromSql, OLD_PREFIX, OLD_TABLES } from "./old-tables.js";

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
    yield* insert("assistant_sessions", { ...row, created_at, updated_at }, OR_KEEP);
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
