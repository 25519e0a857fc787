import type { Ranked, SearchQuery } from "@stemma/model";
import { appendText, assertBudget, invalid, StemmaError } from "@stemma/model";
import type {
  EntryScope,
  FoundEntry,
  ListedEntry,
  SearchEntriesOptions,
  StoredEntry,
  StoredVersion,
  VersionOptions,
  WriteEntryOptions,
} from "../../contract/store.js";
import type { Dialect, EntriesWithin } from "../../engine/dialect.js";
import { all, column, first, type Operation, oneNumber, run } from "../../engine/operation.js";
import { UPGRADED_ROWS } from "../../sql/session-id.js";
import { assertNamed, assertStorable, assertTimes } from "../assert-storable.js";
import { inScope } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { dateSession } from "../registry/sessions.js";
import { searchOf } from "../search/run-search.js";
import { orderedPage } from "./ordered-page.js";
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
/** The operation behind `EntryStore.count`. */
export function* countEntries(sql: Dialect, scope: EntryScope): Operation<number> {
  const { where, values } = inScope(sql, scope);
  const count = `SELECT count(*) AS count FROM cf_agents_search_entries e WHERE ${where}`;
  return yield* oneNumber(count, ...values);
}

/** The operation behind `EntryStore.get`. */
export function* findEntry(sql: Dialect, scope: EntryScope, key: string): Operation<ListedEntry | null> {
  const row = yield* findEntryRow(sql, scope, key);
  return row === null ? null : entryOf(row);
}

/** The operation behind `EntryStore.set`. */
export function* writeEntry(sql: Dialect, scope: EntryScope, entry: StoredEntry, note: EntryNote): Operation<void> {
  assertEntry(scope, entry);
  assertTimes("An entry's", { createdAt: note.createdAt, updatedAt: note.updatedAt });
  yield* dateSession(sql, scope.sessionId);
  yield* storeEntry(sql, scope, entry, note);
}

/** The note of an entry's write, and the conditions of it. */
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

/** The operation behind `EntryStore.versions`. */
export function* readEntryVersions(sql: Dialect, scope: EntryScope, key: string): Operation<StoredVersion[]> {
  const versions = yield* readVersions(entryVersionKey(scope, key));
  const present = yield* findEntryRow(sql, scope, key);
  const isKept = present === null || typeof versions[0]?.content === "string";
  if (isKept) return versions;
  return [unrecorded((versions[0]?.version ?? 0) + 1, present.content, present.updated_at), ...versions];
}

/** The operation behind `EntryStore.append`. */
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

/** The operation behind `EntryStore.delete`. */
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

/** Ranks the entries `e` for which a condition holds, at most `limit`. */
export type RankEntries = (within: EntriesWithin, limit: number) => Operation<readonly Ranked[]>;

/** The operation behind `EntryStore.search`. */
export function* searchEntries(
  sql: Dialect,
  scope: EntryScope,
  query: SearchQuery,
  { limit, prefix, after, before }: SearchEntriesOptions,
  rank: RankEntries = (within, most) => searchOf(sql).entries(query, within, most),
): Operation<FoundEntry[]> {
  const { where, values, sessionIds } = inScope(sql, scope);
  const keys = prefix === undefined ? ALL_KEYS : orderedPage(sql, "e.key", { prefix });
  const times = [...writtenAt(">=", after), ...writtenAt("<", before)];
  const within = {
    where: [where, keys.condition, ...times.map((time) => time.condition)].join(" AND "),
    values: [...values, ...keys.values, ...times.flatMap((time) => time.values)],
    sessionIds,
  };
  const found: FoundEntry[] = [];
  for (const { n: rowId, score } of yield* rank(within, limit)) {
    const query = `SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND n = ?`;
    const row = yield* first<EntryRow>(query, ...values, rowId);
    if (row !== undefined) found.push({ ...entryOf(row), score: Number(score) });
  }
  return found;
}

/** The condition that an entry was last written before a time, or from it on; none without one. */
const writtenAt = (is: "<" | ">=", time: number | undefined) =>
  time === undefined ? [] : [{ condition: `e.updated_at ${is} ?`, values: [new Date(time).toISOString()] }];

const ALL_KEYS = { condition: "TRUE", values: [] };

/** The row of an entry, which an upgrade may have brought along. */
function* findEntryRow(sql: Dialect, scope: EntryScope, key: string): Operation<NumberedRow | null> {
  const { where, values } = inScope(sql, scope);
  const find = `SELECT n, ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND key = ?`;
  return (yield* first<NumberedRow>(find, ...values, key)) ?? null;
}

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
function parseValue(key: string, value: string): unknown {
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
function* findOwnEntryRow(scope: EntryScope, key: string, forUpdate: string): Operation<NumberedRow | null> {
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
    if (sql.markEntry !== null) yield* sql.markEntry(scope.sessionId, old.n);
    return;
  }
  const insertion = `INSERT INTO cf_agents_search_entries (session_id, label, key, content, value, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`;
  yield* run(insertion, scope.sessionId, scope.label, entry.key, entry.content, value, createdAt, updatedAt);
  const added = yield* findOwnEntryRow(scope, entry.key, "");
  if (sql.search !== null && added !== null) {
    const document = entryDocument(added);
    yield* sql.search.add("entries", [{ sessionId: scope.sessionId, rowId: added.n, document }]);
    if (sql.markEntry !== null) yield* sql.markEntry(scope.sessionId, added.n);
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
