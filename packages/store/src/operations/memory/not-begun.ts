import type { EntryScope, ListedEntry } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation } from "../../engine/operation.js";
import { inScope } from "../messages/upgraded-rows.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf } from "./entry-rows.js";
import { KnownEntries, type KnownRow, withRemoved } from "./known-entries.js";

/**
 * The keys of entries that had not begun at a time though their beginning is unknown: what they supersede ended later, directly or through
 * others of unknown beginning. Some have a beginning, which counts instead. `knownAt` null: as it is known now.
 */
export function* notBegun(
  sql: Dialect,
  scope: EntryScope,
  time: string,
  knownAt: string | null,
): Operation<ReadonlySet<string>> {
  const entries = new Map((yield* superseded(sql, scope, time, knownAt)).map((entry) => [entry.key, entry]));
  const found = new Set<string>();
  const left = [...entries.values()].filter((entry) => endsLater(entry, time));
  for (let entry = left.pop(); entry !== undefined; entry = left.pop()) {
    for (const by of entry.supersededBy) {
      if (found.has(by)) continue;
      found.add(by);
      const next = entries.get(by);
      if (next?.validFrom === null) left.push(next);
    }
  }
  return found;
}

// What ends at its own beginning never held: nothing waits for its end.
function endsLater({ validFrom, validTo }: ListedEntry, time: string): boolean {
  return validTo !== null && validTo > time && (validFrom === null || validFrom < validTo);
}

function* superseded(
  sql: Dialect,
  scope: EntryScope,
  time: string,
  knownAt: string | null,
): Operation<readonly ListedEntry[]> {
  if (knownAt !== null) {
    const { condition, values } = withRemoved(sql, scope, knownAt);
    const known = new KnownEntries(scope, knownAt);
    const found: ListedEntry[] = [];
    const rows = yield* all<KnownRow>(`SELECT ${ENTRY_COLUMNS}, removed FROM ${condition}`, ...values);
    for (const row of rows) {
      const entry = yield* known.show(row);
      if (entry !== null) found.push(entry);
    }
    return found;
  }
  const { where, values } = inScope(sql, scope);
  const query = `SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where}
    AND (e.valid_to > ? OR e.valid_to IS NOT NULL AND e.valid_from IS NULL) AND replace(e.fact, ?, '') <> e.fact`;
  const rows = yield* all<EntryRow>(query, ...values, time, SUPERSEDED);
  return rows.map(entryOf);
}

/** Stands in the fact of an entry that another one supersedes, and in no text of it: there quotes are escaped. */
const SUPERSEDED = '"by":"';
