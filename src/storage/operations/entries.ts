import { StemmaError } from "../../errors.js";
import { assertBudget } from "../../model/budget.js";
import type { SearchQuery } from "../../model/query.js";
import { queryTerms } from "../../model/terms.js";
import { appendText } from "../../model/text.js";
import type {
  EntryScope,
  FoundEntry,
  ListedEntry,
  SearchEntriesOptions,
  StoredEntry,
  StoredVersion,
  VersionOptions,
  WriteEntryOptions,
} from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { first, type Operation, oneNumber } from "../engine/operation.js";
import { UPGRADED_ROWS } from "../session-id.js";
import { assertNamed, assertStorable, assertTimes } from "./assert-storable.js";
import {
  ENTRY_COLUMNS,
  type EntryRow,
  entryOf,
  findEntryRow,
  findOwnEntryRow,
  parseValue,
  putEntry,
  removeEntry,
} from "./entry-row.js";
import { orderedPage } from "./ordered-page.js";
import { searchOf } from "./search/search.js";
import { dateSession } from "./session-dates.js";
import { inScope } from "./upgraded-rows.js";
import {
  keepVersion,
  lastVersion,
  newVersion,
  readVersions,
  removeVersions,
  unrecorded,
  type VersionKey,
  type VersionNote,
} from "./versions.js";

/** See `EntryStore.count`. */
export function* countEntries(sql: Dialect, scope: EntryScope): Operation<number> {
  const { where, values } = inScope(sql, scope);
  const count = `SELECT count(*) AS count FROM cf_agents_search_entries e WHERE ${where}`;
  return yield* oneNumber(count, ...values);
}

/** See `EntryStore.get`. */
export function* findEntry(sql: Dialect, scope: EntryScope, key: string): Operation<ListedEntry | null> {
  const row = yield* findEntryRow(sql, scope, key);
  return row === null ? null : entryOf(row);
}

/** See `EntryStore.set`. */
export function* writeEntry(sql: Dialect, scope: EntryScope, entry: StoredEntry, note: EntryNote): Operation<void> {
  assertEntry(scope, entry);
  assertTimes("An entry's", { createdAt: note.createdAt, updatedAt: note.updatedAt });
  yield* dateSession(sql, scope.sessionId);
  yield* storeEntry(sql, scope, entry, note);
}

/** What is noted of an entry's write, and what must hold for it. */
export type EntryNote = VersionNote & Omit<WriteEntryOptions, keyof VersionOptions>;

/** Writes the next version of an entry, in place when the key is known. */
export function* storeEntry(sql: Dialect, scope: EntryScope, entry: StoredEntry, note: EntryNote): Operation<void> {
  const old = yield* findOwnEntryRow(scope, entry.key, sql.forUpdate);
  const known = old ?? (yield* findEntryRow(sql, scope, entry.key));
  assertExpected(scope, entry.key, known, note);
  yield* recordEntry(scope, entry.key, known, entry.content, note);
  yield* putEntry(sql, scope, { ...note, ...entry }, old);
}

function assertEntry({ label }: EntryScope, { key, content }: StoredEntry): void {
  assertNamed(key, "The key of an entry");
  assertStorable("An entry's", { label, key, content });
}

function assertExpected(scope: EntryScope, key: string, known: EntryRow | null, { expectedContent }: EntryNote): void {
  if (expectedContent === undefined || expectedContent === (known?.content ?? null)) return;
  const message = `Entry "${key}" ${known === null ? "is not there" : "says something else"}: read it again, then write.`;
  throw new StemmaError("ENTRY_CONFLICT", { label: scope.label, key }, message);
}

// Of an entry that is not kept in its history yet, what it said is kept as well.
function* recordEntry(
  scope: EntryScope,
  key: string,
  old: EntryRow | null,
  content: string | null,
  note: VersionNote,
): Operation<void> {
  const versionKey = entryVersionKey(scope, key);
  let version = yield* lastVersion(versionKey);
  if (old !== null && !version.isPresent) {
    version = { number: version.number + 1, isPresent: true };
    yield* keepVersion(versionKey, unrecorded(version.number, old.content, old.updated_at), note.keepVersions);
  }
  yield* keepVersion(versionKey, newVersion(version.number + 1, content, note), note.keepVersions);
}

/** Where the versions of an entry stand. */
export function entryVersionKey({ sessionId, label }: EntryScope, key: string): VersionKey {
  return { sessionId, kind: "entry", label, key };
}

/** See `EntryStore.versions`. */
export function* readEntryVersions(sql: Dialect, scope: EntryScope, key: string): Operation<StoredVersion[]> {
  const versions = yield* readVersions(entryVersionKey(scope, key));
  const present = yield* findEntryRow(sql, scope, key);
  const isKept = present === null || typeof versions[0]?.content === "string";
  if (isKept) return versions;
  return [unrecorded((versions[0]?.version ?? 0) + 1, present.content, present.updated_at), ...versions];
}

/** See `EntryStore.append`. */
export function* appendEntry(
  sql: Dialect,
  scope: EntryScope,
  entry: StoredEntry,
  maxTokens: number,
  note: VersionNote,
): Operation<StoredEntry> {
  assertEntry(scope, entry);
  yield* dateSession(sql, scope.sessionId);
  const own = yield* findOwnEntryRow(scope, entry.key, sql.forUpdate);
  const old = own ?? (yield* findEntryRow(sql, scope, entry.key));
  const next: StoredEntry = { key: entry.key, content: appendText(old?.content ?? "", entry.content) };
  if (old !== null && old.value !== null) next.value = parseValue(old.key, old.value);
  assertBudget(scope.label, next.content, maxTokens);
  yield* recordEntry(scope, entry.key, old, next.content, note);
  yield* putEntry(sql, scope, next, own);
  return next;
}

/** See `EntryStore.delete`. */
export function* deleteEntry(sql: Dialect, scope: EntryScope, key: string, note: EntryNote): Operation<void> {
  const present = (yield* findOwnEntryRow(scope, key, sql.forUpdate)) ?? (yield* findEntryRow(sql, scope, key));
  assertExpected(scope, key, present, note);
  if (present !== null) yield* dateSession(sql, scope.sessionId);
  if (present !== null && note.keepVersions !== 0) yield* recordEntry(scope, key, present, null, note);
  if (note.keepVersions === 0) yield* removeVersions(entryVersionKey(scope, key));
  for (const sessionId of [scope.sessionId, UPGRADED_ROWS]) {
    const old = yield* findOwnEntryRow({ ...scope, sessionId }, key, sql.forUpdate);
    if (old !== null) yield* removeEntry(sql, sessionId, old.n);
  }
}

/** See `EntryStore.search`. */
export function* searchEntries(
  sql: Dialect,
  scope: EntryScope,
  query: SearchQuery,
  { limit, prefix }: SearchEntriesOptions,
): Operation<FoundEntry[]> {
  const { where, values, sessionIds } = inScope(sql, scope);
  const keys = prefix === undefined ? ALL_KEYS : orderedPage(sql, "e.key", { prefix });
  const within = { where: `${where} AND ${keys.condition}`, values: [...values, ...keys.values], sessionIds };
  const found: FoundEntry[] = [];
  for (const { n: rowId, score } of yield* searchOf(sql).entries(queryTerms(query), within, limit)) {
    const query = `SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND n = ?`;
    const row = yield* first<EntryRow>(query, ...values, rowId);
    if (row !== undefined) found.push({ ...entryOf(row), score: Number(score) });
  }
  return found;
}

const ALL_KEYS = { condition: "TRUE", values: [] };
