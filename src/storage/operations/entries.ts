import { assertBudget } from "../../model/budget.js";
import type { SearchQuery } from "../../model/query.js";
import { queryTerms } from "../../model/terms.js";
import { appendText } from "../../model/text.js";
import type { EntryScope, StoredEntry, StoredVersion } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, first, type Operation, run } from "../engine/operation.js";
import { UPGRADED_ROWS } from "../session-id.js";
import { searchOf } from "./search/search.js";
import { dateSession, isoNow } from "./session-head.js";
import { inScope } from "./upgraded-rows.js";
import {
  keepVersion,
  lastVersion,
  newVersion,
  readVersions,
  removeVersions,
  unrecorded,
  type VersionNote,
  type VersionPlace,
} from "./versions.js";

/** See `EntryStore.count`. */
export function* countEntries(scope: EntryScope): Operation<number> {
  const { where, values } = inScope(scope);
  const count = `SELECT count(*) AS count FROM cf_agents_search_entries e WHERE ${where}`;
  const row = yield* first<{ count: number }>(count, ...values);
  return Number(row?.count ?? 0);
}

/** See `EntryStore.get`. */
export function* findEntry(scope: EntryScope, key: string): Operation<StoredEntry | null> {
  const row = yield* findRow(scope, key);
  return row === null ? null : { key: row.key, content: row.content };
}

function* findRow(scope: EntryScope, key: string): Operation<EntryRow | null> {
  const { where, values } = inScope(scope);
  const find = `SELECT n, key, content, updated_at FROM cf_agents_search_entries e WHERE ${where} AND key = ?`;
  return (yield* first<EntryRow>(find, ...values, key)) ?? null;
}

interface EntryRow extends StoredEntry {
  readonly n: number;
  readonly updated_at: string;
}

// Of the rows that the scope wrote itself.
function* readEntry(scope: EntryScope, key: string, forUpdate: string): Operation<EntryRow | null> {
  const row = yield* first<EntryRow>(
    `SELECT n, key, content, updated_at FROM cf_agents_search_entries WHERE session_id = ? AND label = ? AND key = ?${forUpdate}`,
    scope.sessionId,
    scope.label,
    key,
  );
  return row ?? null;
}

/** See `EntryStore.set`. */
export function* writeEntry(sql: Dialect, scope: EntryScope, entry: StoredEntry, note: VersionNote): Operation<void> {
  yield* dateSession(scope.sessionId);
  yield* storeEntry(sql, scope, entry, note);
}

/** Writes the next version of an entry, in place when the key is known. */
export function* storeEntry(sql: Dialect, scope: EntryScope, entry: StoredEntry, note: VersionNote): Operation<void> {
  const old = yield* readEntry(scope, entry.key, sql.forUpdate);
  const known = old ?? (yield* findRow(scope, entry.key));
  yield* recordEntry(scope, entry.key, known, entry.content, note);
  yield* putEntry(sql, scope, entry, old);
}

// Of an entry that is not kept in its history yet, what it said is kept as well.
function* recordEntry(
  scope: EntryScope,
  key: string,
  old: EntryRow | null,
  content: string | null,
  note: VersionNote,
): Operation<void> {
  const place = entryPlace(scope, key);
  let version = yield* lastVersion(place);
  if (old !== null && !version.isPresent) {
    version = { number: version.number + 1, isPresent: true };
    yield* keepVersion(place, unrecorded(version.number, old.content, old.updated_at), note.keepVersions);
  }
  yield* keepVersion(place, newVersion(version.number + 1, content, note), note.keepVersions);
}

/** Where the versions of an entry stand. */
export function entryPlace({ sessionId, label }: EntryScope, key: string): VersionPlace {
  return { sessionId, kind: "entry", label, key };
}

/** See `EntryStore.versions`. */
export function* readEntryVersions(scope: EntryScope, key: string): Operation<StoredVersion[]> {
  const versions = yield* readVersions(entryPlace(scope, key));
  const present = yield* findRow(scope, key);
  const isKept = present === null || typeof versions[0]?.content === "string";
  if (isKept) return versions;
  return [unrecorded((versions[0]?.version ?? 0) + 1, present.content, present.updated_at), ...versions];
}

/** Writes an entry without a word of it in its history, in the place of `old`. */
export function* putEntry(
  sql: Dialect,
  scope: EntryScope,
  entry: StoredEntry,
  old: { readonly n: number } | null,
): Operation<void> {
  const now = isoNow();
  if (old !== null) {
    yield* run(
      "UPDATE cf_agents_search_entries SET content = ?, updated_at = ? WHERE n = ?",
      entry.content,
      now,
      old.n,
    );
    if (sql.search !== null) yield* sql.search.remove("entries", old.n, old.n);
    if (sql.search !== null) yield* sql.search.add("entries", old.n, entryDocument(entry));
    return;
  }
  yield* run(
    `INSERT INTO cf_agents_search_entries (session_id, label, key, content, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
    scope.sessionId,
    scope.label,
    entry.key,
    entry.content,
    now,
    now,
  );
  const added = yield* readEntry(scope, entry.key, "");
  if (sql.search !== null && added !== null) yield* sql.search.add("entries", added.n, entryDocument(entry));
}

/** See `EntryStore.append`. */
export function* appendEntry(
  sql: Dialect,
  scope: EntryScope,
  entry: StoredEntry,
  maxTokens: number,
  note: VersionNote,
): Operation<StoredEntry> {
  yield* dateSession(scope.sessionId);
  const own = yield* readEntry(scope, entry.key, sql.forUpdate);
  const old = own ?? (yield* findRow(scope, entry.key));
  const next = { key: entry.key, content: appendText(old?.content ?? "", entry.content) };
  assertBudget(scope.label, next.content, maxTokens);
  yield* recordEntry(scope, entry.key, old, next.content, note);
  yield* putEntry(sql, scope, next, own);
  return next;
}

/** See `EntryStore.delete`. */
export function* deleteEntry(sql: Dialect, scope: EntryScope, key: string, note: VersionNote): Operation<void> {
  const present = yield* findRow(scope, key);
  if (present !== null) yield* dateSession(scope.sessionId);
  if (present !== null && note.keepVersions !== 0) yield* recordEntry(scope, key, present, null, note);
  if (note.keepVersions === 0) yield* removeVersions(entryPlace(scope, key));
  for (const sessionId of [scope.sessionId, UPGRADED_ROWS]) {
    const old = yield* readEntry({ ...scope, sessionId }, key, sql.forUpdate);
    if (old !== null) yield* removeEntry(sql, old.n);
  }
}

/** Removes the entries of every scope of a session. */
export function* removeEntries(sql: Dialect, sessionId: string): Operation<void> {
  const rows = yield* all<{ n: number }>("SELECT n FROM cf_agents_search_entries WHERE session_id = ?", sessionId);
  for (const { n: rowId } of rows) yield* removeEntry(sql, rowId);
}

/** Copies the entries of every scope of a session to another one. */
export function* copyEntries(sql: Dialect, from: string, to: string): Operation<void> {
  const rows = yield* all<StoredEntry & { label: string }>(
    "SELECT label, key, content FROM cf_agents_search_entries WHERE session_id = ? ORDER BY n",
    from,
  );
  for (const { label, key, content } of rows) yield* putEntry(sql, { sessionId: to, label }, { key, content }, null);
}

/** See `EntryStore.search`. */
export function* searchEntries(
  sql: Dialect,
  scope: EntryScope,
  query: SearchQuery,
  limit: number,
): Operation<StoredEntry[]> {
  const found: StoredEntry[] = [];
  for (const { n: rowId } of yield* searchOf(sql).entries(queryTerms(query), scope, limit)) {
    const row = yield* first<StoredEntry>("SELECT key, content FROM cf_agents_search_entries WHERE n = ?", rowId);
    if (row !== undefined) found.push({ key: row.key, content: row.content });
  }
  return found;
}

/** What is indexed of an entry: its key is a title, so its words count too. */
export function entryDocument(entry: StoredEntry): string {
  return `${entry.key.replace(/[-_/]+/g, " ")}\n${entry.content}`;
}

function* removeEntry(sql: Dialect, rowId: number): Operation<void> {
  if (sql.search !== null) yield* sql.search.remove("entries", rowId, rowId);
  yield* run("DELETE FROM cf_agents_search_entries WHERE n = ?", rowId);
}
