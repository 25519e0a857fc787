import { invalid, StemmaError } from "../../errors.js";
import type { EntryScope, ListedEntry, StoredEntry, WriteEntryOptions } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, column, first, type Operation, run } from "../engine/operation.js";
import { isoNow } from "./clock.js";
import { inScope } from "./upgraded-rows.js";

/** The row of an entry, which an upgrade may have brought along. */
export function* findEntryRow(sql: Dialect, scope: EntryScope, key: string): Operation<NumberedRow | null> {
  const { where, values } = inScope(sql, scope);
  const find = `SELECT n, ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND key = ?`;
  return (yield* first<NumberedRow>(find, ...values, key)) ?? null;
}

/** What is read of an entry's row. */
export const ENTRY_COLUMNS = "key, content, value, created_at, updated_at";

export interface EntryRow {
  readonly key: string;
  readonly content: string;
  /** JSON of the entry's value; null when it has none. */
  readonly value: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

interface NumberedRow extends EntryRow {
  readonly n: number;
}

/** The entry that a row holds. Errors: `CORRUPT_ENTRY`. */
export function entryOf({ key, content, value, created_at, updated_at }: EntryRow): ListedEntry {
  const entry = { key, content, createdAt: created_at, updatedAt: updated_at };
  return value === null ? entry : { ...entry, value: parseValue(key, value) };
}

/** The value that a row holds as JSON. Errors: `CORRUPT_ENTRY`. */
export function parseValue(key: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (cause) {
    const message = `The value of entry "${key}" cannot be read: run check().`;
    throw new StemmaError("CORRUPT_ENTRY", { key }, message, { cause });
  }
}

function valueText({ key, value }: StoredEntry): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch (cause) {
    throw invalid(`The value of entry "${key}" is no JSON.`, { key }, { cause });
  }
}

/** Of the rows that the scope wrote itself. */
export function* findOwnEntryRow(scope: EntryScope, key: string, forUpdate: string): Operation<NumberedRow | null> {
  const query = `SELECT n, ${ENTRY_COLUMNS} FROM cf_agents_search_entries WHERE session_id = ? AND label = ? AND key = ?${forUpdate}`;
  const row = yield* first<NumberedRow>(query, scope.sessionId, scope.label, key);
  return row ?? null;
}

/** Writes an entry without a word of it in its history, in the place of `old`; of times that are missing it is now. */
export function* putEntry(
  sql: Dialect,
  scope: EntryScope,
  entry: StoredEntry & Pick<WriteEntryOptions, "createdAt" | "updatedAt">,
  old: { readonly n: number } | null,
): Operation<void> {
  const now = isoNow();
  const { createdAt = now, updatedAt = now } = entry;
  const value = valueText(entry);
  if (old !== null) {
    const update =
      "UPDATE cf_agents_search_entries SET content = ?, value = ?, updated_at = ? WHERE session_id = ? AND n = ?";
    yield* run(update, entry.content, value, updatedAt, scope.sessionId, old.n);
    if (sql.search === null) return;
    yield* sql.search.remove("entries", scope.sessionId, old.n, old.n);
    const document = entryDocument({ ...entry, value });
    yield* sql.search.add("entries", [{ sessionId: scope.sessionId, rowId: old.n, document }]);
    return;
  }
  const insertion = `INSERT INTO cf_agents_search_entries (session_id, label, key, content, value, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`;
  yield* run(insertion, scope.sessionId, scope.label, entry.key, entry.content, value, createdAt, updatedAt);
  const added = yield* findOwnEntryRow(scope, entry.key, "");
  if (sql.search !== null && added !== null) {
    const document = entryDocument(added);
    yield* sql.search.add("entries", [{ sessionId: scope.sessionId, rowId: added.n, document }]);
  }
}

/** Removes the entries of every scope of a session. */
export function* removeEntries(sql: Dialect, sessionId: string): Operation<void> {
  const rowIds = yield* column<number>("SELECT n FROM cf_agents_search_entries WHERE session_id = ?", sessionId);
  for (const rowId of rowIds) yield* removeEntry(sql, sessionId, rowId);
}

/** Copies the entries of every scope of a session to another one. */
export function* copyEntries(sql: Dialect, from: string, to: string): Operation<void> {
  const query = `SELECT label, ${ENTRY_COLUMNS} FROM cf_agents_search_entries WHERE session_id = ? ORDER BY n`;
  const rows = yield* all<EntryRow & { label: string }>(query, from);
  for (const row of rows) yield* putEntry(sql, { sessionId: to, label: row.label }, entryOf(row), null);
}

/** What is indexed of an entry: its key is a title, so its words count too, unless programs read it (`value`). */
export function entryDocument({ key, content, value }: Pick<EntryRow, "key" | "content" | "value">): string {
  return value === null ? `${key.replace(/[-_/]+/g, " ")}\n${content}` : content;
}

/** Removes the entry of a row, without a word of it in its history. */
export function* removeEntry(sql: Dialect, sessionId: string, rowId: number): Operation<void> {
  if (sql.search !== null) yield* sql.search.remove("entries", sessionId, rowId, rowId);
  yield* run("DELETE FROM cf_agents_search_entries WHERE session_id = ? AND n = ?", sessionId, rowId);
}
