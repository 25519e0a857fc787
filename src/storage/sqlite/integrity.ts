import type { EngineFault } from "../check/dialect.js";
import { all, type Operation } from "../engine/operation.js";
import { findSearchTables } from "./search-tables.js";

const INDEX_FAULT = /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index)/;
const SEARCH_FAULT = /inverted index for FTS5|^fts5: /;
const VALUE_FAULT = /^(?:NULL|TEXT|NUMERIC|REAL|INT|BLOB|non-\w+) value (?:in|missing from)/i;

/** What SQLite says of its own file. */
export function* findFaults(): Operation<EngineFault[]> {
  // FTS5 looks at an index as this connection read it last, and finds fault with what others wrote since. A query has it look anew.
  for (const table of yield* findSearchTables()) yield* all(`SELECT rowid FROM ${table} WHERE rowid = -1`);
  const rows = yield* all<Record<string, unknown>>("PRAGMA integrity_check(100)");
  const messages = rows.map((row) => String(Object.values(row)[0])).filter((message) => message !== "ok");
  const types = yield* all<{ name: string; type: string }>(TYPES);
  const changed = types.map(({ name, type }) => `The definition of ${name} is damaged: it is of type "${type}".`);
  return [
    ...messages.map((message) => ({ message, mend: mendOf(message) })),
    ...changed.map((message) => ({ message, mend: "nothing" as const })),
  ];
}

// A type that is none changes what the engine makes of the values that are written; names are given as they stand there.
const TYPES = `SELECT t.name || '.' || c.name AS name, c.type AS type FROM sqlite_master t, pragma_table_info(t.name) c
  WHERE t.type = 'table' AND t.sql NOT LIKE '%VIRTUAL%' AND (t.name LIKE 'assistant%' OR t.name LIKE 'cf_agents%')
  AND t.name NOT LIKE '%fts%' AND (c.type NOT IN ('TEXT', 'INTEGER', 'REAL', 'BLOB') OR c.name <> lower(c.name))`;

function mendOf(message: string): EngineFault["mend"] {
  if (INDEX_FAULT.test(message)) return "reindex";
  if (SEARCH_FAULT.test(message)) return "search";
  return VALUE_FAULT.test(message) ? "rows" : "nothing";
}
