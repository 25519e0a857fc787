import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation, run } from "../../engine/operation.js";

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
export function* hasOldTable(sql: Dialect, table: string): Operation<boolean> {
  return (yield* sql.columns(OLD_PREFIX + table)).length > 0;
}

/** Old tables hold SQLite's own form, which is UTC, or milliseconds. */
export function isoFromSql(time: string | number | null | undefined): string | null {
  if (time === null || time === undefined) return null;
  const text =
    typeof time === "string" && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(time) ? `${time.replace(" ", "T")}Z` : time;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
