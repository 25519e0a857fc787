import { invalid, StemmaError } from "@stemma/model";
import type { EntryScope, ListedEntry, StoredEntry, WriteEntryOptions } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, column, first, type Operation, oneNumber, run } from "../../engine/operation.js";
import { inScope } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { endOf, factText, type KeptFact, NO_FACT, parseFact, shownFact } from "./entry-fact.js";

/** The row of an entry, which an upgrade may have brought along. */
export function* findEntryRow(sql: Dialect, scope: EntryScope, key: string): Operation<NumberedRow | null> {
  const { where, values } = inScope(sql, scope);
  const find = `SELECT n, ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND key = ?`;
  return (yield* first<NumberedRow>(find, ...values, key)) ?? null;
}

export const ENTRY_COLUMNS = "key, content, value, fact, created_at, updated_at";

/** The row of an entry. */
export interface EntryRow {
  readonly key: string;
  readonly content: string;
  /** JSON of the entry's value; null when it has none. */
  readonly value: string | null;
  /** JSON of its `KeptFact`; null when it says nothing of the kind. */
  readonly fact: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface NumberedRow extends EntryRow {
  readonly n: number;
}

/** The entry that a row holds. Errors: `CORRUPT_ENTRY`. */
export function entryOf(row: EntryRow): ListedEntry {
  const { key, content, value, created_at, updated_at } = row;
  const entry = { key, content, ...shownFact(factOf(row)), createdAt: created_at, updatedAt: updated_at };
  return value === null ? entry : { ...entry, value: parseValue(key, value) };
}

/** The fact that a row keeps. Errors: `CORRUPT_ENTRY`. */
export function factOf({ key, fact }: Pick<EntryRow, "key" | "fact">): KeptFact {
  const found = parseFact(fact);
  if (found !== null) return found;
  throw new StemmaError("CORRUPT_ENTRY", { key }, `The times of entry "${key}" cannot be read: run check().`);
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

function valueText({ key, value }: Pick<StoredEntry, "key" | "value">): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch (cause) {
    throw invalid(`The value of entry "${key}" is no JSON.`, { key }, { cause });
  }
}

/** The row of an entry, of those that the scope wrote itself. */
export function* findOwnEntryRow(scope: EntryScope, key: string, forUpdate: string): Operation<NumberedRow | null> {
  const query = `SELECT n, ${ENTRY_COLUMNS} FROM cf_agents_search_entries WHERE session_id = ? AND label = ? AND key = ?${forUpdate}`;
  const row = yield* first<NumberedRow>(query, scope.sessionId, scope.label, key);
  return row ?? null;
}

/** The row of an entry that an upgrade brought along: no scope but a session's has such. */
export function* findUpgradedRow(sql: Dialect, scope: EntryScope, key: string): Operation<NumberedRow | null> {
  return inScope(sql, scope).sessionIds.length === 1 ? null : yield* findEntryRow(sql, scope, key);
}

/** Values of the row of an entry. Times that are missing are now; a fact that is missing says nothing. */
export interface EntryContent
  extends Pick<StoredEntry, "key" | "content" | "value">,
    Pick<WriteEntryOptions, "createdAt" | "updatedAt"> {
  readonly fact?: KeptFact;
}

/** Writes an entry without a word of it in its history, in the place of `old`. */
export function* putEntry(
  sql: Dialect,
  scope: EntryScope,
  entry: EntryContent,
  old: { readonly n: number } | null,
): Operation<void> {
  const now = isoNow();
  const { createdAt = now, updatedAt = now, fact = NO_FACT } = entry;
  const value = valueText(entry);
  const facts = factValues(fact);
  if (old !== null) {
    const update = `UPDATE cf_agents_search_entries SET content = ?, value = ?, ${SET_FACT}, updated_at = ? WHERE session_id = ? AND n = ?`;
    yield* run(update, entry.content, value, ...facts, updatedAt, scope.sessionId, old.n);
    if (sql.search === null) return;
    yield* sql.search.remove("entries", scope.sessionId, old.n, old.n);
    const document = entryDocument({ ...entry, value });
    yield* sql.search.add("entries", [{ sessionId: scope.sessionId, rowId: old.n, document }]);
    if (sql.markEntry !== null) yield* sql.markEntry(scope.sessionId, old.n);
    return;
  }
  const insertion = `INSERT INTO cf_agents_search_entries (session_id, label, key, content, value, ${FACT_COLUMNS.join(", ")}, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`;
  const { sessionId, label } = scope;
  const { key, content } = entry;
  const rowId = yield* oneNumber(insertion, sessionId, label, key, content, value, ...facts, createdAt, updatedAt);
  if (sql.search === null) return;
  yield* sql.search.add("entries", [{ sessionId, rowId, document: entryDocument({ key, content, value }) }]);
  if (sql.markEntry !== null) yield* sql.markEntry(sessionId, rowId);
}

/** Writes the fact of an entry, whose text stays. */
export function* putFact(sql: Dialect, scope: EntryScope, row: EntryRow, fact: KeptFact): Operation<void> {
  const own = yield* findOwnEntryRow(scope, row.key, "");
  if (own !== null) {
    const update = `UPDATE cf_agents_search_entries SET ${SET_FACT} WHERE session_id = ? AND n = ?`;
    return yield* run(update, ...factValues(fact), scope.sessionId, own.n);
  }
  // What an upgrade brought along becomes the scope's own.
  yield* putEntry(sql, scope, { ...entryOf(row), fact }, null);
}

const FACT_COLUMNS = ["valid_from", "valid_to", "expires_at", "fact"] as const;

const SET_FACT = FACT_COLUMNS.map((name) => `${name} = ?`).join(", ");

// The times by which reads choose stand beside it.
const factValues = (fact: KeptFact) => [fact.validFrom, endOf(fact).validTo, fact.expiresAt, factText(fact)] as const;

/** Removes the entries of every scope of a session. */
export function* removeEntries(sql: Dialect, sessionId: string): Operation<void> {
  const rowIds = yield* column<number>("SELECT n FROM cf_agents_search_entries WHERE session_id = ?", sessionId);
  for (const rowId of rowIds) yield* removeEntry(sql, sessionId, rowId);
}

/** Copies the entries of every scope of a session to another one. */
export function* copyEntries(sql: Dialect, from: string, to: string): Operation<void> {
  const query = `SELECT label, ${ENTRY_COLUMNS} FROM cf_agents_search_entries WHERE session_id = ? ORDER BY n`;
  const rows = yield* all<EntryRow & { label: string }>(query, from);
  for (const row of rows) {
    yield* putEntry(sql, { sessionId: to, label: row.label }, { ...entryOf(row), fact: factOf(row) }, null);
  }
}

/** The text by which an entry is found: its key is a title, so its words count too, unless programs read it (`value`). */
export function entryDocument(entry: Pick<EntryRow, "key" | "content" | "value">): string {
  const title = entryTitle(entry);
  return title === "" ? entry.content : `${title}\n${entry.content}`;
}

/** The words of the key of an entry without a value; "" for one with a value. */
export function entryTitle({ key, value }: { readonly key: string; readonly value?: unknown }): string {
  return value == null ? key.replace(/[-_/]+/g, " ") : "";
}

/** Removes the entry of a row, without a word of it in its history. */
export function* removeEntry(sql: Dialect, sessionId: string, rowId: number): Operation<void> {
  if (sql.search !== null) yield* sql.search.remove("entries", sessionId, rowId, rowId);
  yield* run("DELETE FROM cf_agents_search_entries WHERE session_id = ? AND n = ?", sessionId, rowId);
}
