import type { Ranked, SearchQuery } from "@stemma/model";
import { appendText, assertBudget, invalid, StemmaError, sameJson } from "@stemma/model";
import type {
  EntryEnd,
  EntryScope,
  EntryView,
  FoundEntry,
  ListEntriesOptions,
  ListedEntry,
  Pruned,
  PruneRequest,
  SearchEntriesOptions,
  StoredEntry,
  StoredVersion,
  VersionOptions,
  WriteEntryOptions,
} from "../../contract/store.js";
import type { Dialect, EntriesWithin } from "../../engine/dialect.js";
import { all, type Condition, first, type Operation, oneNumber } from "../../engine/operation.js";
import { UPGRADED_ROWS } from "../../sql/session-id.js";
import { assertCount, assertNamed, assertStorable, assertTimes } from "../assert-storable.js";
import { inScope } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { dateSession } from "../registry/sessions.js";
import { searchOf } from "../search/run-search.js";
import { changedFact, checkedEnds, type KeptFact, NO_FACT, shownFact } from "./entry-fact.js";
import {
  ENTRY_COLUMNS,
  type EntryRow,
  entryOf,
  factOf,
  findEntryRow,
  findOwnEntryRow,
  findUpgradedRow,
  parseValue,
  putEntry,
  putFact,
  removeEntry,
} from "./entry-rows.js";
import { chosenBy, listEntries } from "./entry-views.js";
import { orderedPage } from "./ordered-page.js";
import {
  bridge,
  circle,
  forgetNeighbour,
  holdAfter,
  keepEnds,
  linkPredecessors,
  lockChains,
  lockEntry,
  openPredecessors,
  presentEnds,
  successorsOf,
  unbridge,
} from "./successors.js";
import {
  entryVersionKey,
  keepVersion,
  type LastVersion,
  lastVersion,
  newVersion,
  readVersions,
  removeVersions,
  unrecorded,
  type VersionNote,
} from "./versions.js";

/** The operation behind `EntryStore.count`. */
export function* countEntries(sql: Dialect, scope: EntryScope, view: EntryView): Operation<number> {
  const chosen = yield* chosenBy(sql, scope, view);
  if (!chosen.isWhole) return (yield* listEntries(sql, scope, { ...view, limit: Number.MAX_SAFE_INTEGER })).length;
  const { where, values } = inScope(sql, scope);
  const count = `SELECT count(*) AS count FROM cf_agents_search_entries e WHERE ${where} AND ${chosen.condition}`;
  return yield* oneNumber(count, ...values, ...chosen.values);
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
export function* storeEntry(sql: Dialect, scope: EntryScope, given: StoredEntry, note: EntryNote): Operation<void> {
  const { validFrom, supersedes } = given;
  if ([validFrom, supersedes, note.supersededBy].some((each) => each !== undefined)) yield* lockChains(sql, scope);
  const old = yield* findOwnEntryRow(scope, given.key, sql.forUpdate);
  const known = old ?? (yield* findUpgradedRow(sql, scope, given.key));
  assertExpected(scope, given.key, known, note);
  const entry = note.ends === undefined ? saidIn(scope, given, known) : given;
  const { fact, createdAt, last } = yield* writtenFact(sql, scope, entry, known, note);
  // A version tells what was written, not what else that ends because something in between was removed.
  const said = entry.supersedes === undefined ? fact : { ...fact, supersedes: [...new Set(entry.supersedes)] };
  const now = yield* recordEntry(scope, entry.key, known, { content: entry.content, fact: said }, note, last);
  // Its first version tells when it was first stored, should it be removed and come back.
  const times = { createdAt: note.createdAt ?? createdAt ?? now, updatedAt: note.updatedAt ?? now };
  yield* putEntry(sql, scope, { ...entry, fact, ...times }, old);
}

/** An entry as it is written from now on. */
interface Written {
  readonly fact: KeptFact;
  /** When it was first stored; undefined for now. */
  readonly createdAt: string | undefined;
  /** Its newest version, where that was read. */
  readonly last?: LastVersion | undefined;
}

// What the entry says of its time from now on; what it supersedes is changed.
function* writtenFact(
  sql: Dialect,
  scope: EntryScope,
  entry: StoredEntry,
  known: EntryRow | null,
  note: Pick<EntryNote, "ends" | "holds" | "merges" | "supersededBy"> & VersionNote,
): Operation<Written> {
  const now = isoNow();
  const { ends, holds = false, merges = false, supersededBy = [] } = note;
  const { key } = entry;
  if (ends !== undefined) {
    const fact = { ...changedFact(NO_FACT, key, { ...entry, validTo: null }, now), ends: checkedEnds(ends) };
    return { fact, createdAt: known?.created_at };
  }
  const before = known === null ? null : factOf(known);
  const removed = before === null ? yield* lastVersion(entryVersionKey(scope, key)) : null;
  const isBack = removed !== null && removed.number > 0;
  const versions = isBack ? yield* readVersions(entryVersionKey(scope, key)) : [];
  // It looks at all entries: a new one stands beside none.
  const base = isBack ? { ...NO_FACT, ends: yield* presentEnds(sql, scope, key, removed.fact.ends) } : NO_FACT;
  const told = changedFact(holds ? heldAgain(scope, key, before ?? base, now) : (before ?? base), key, entry, now);
  const held = isBack ? yield* holdAfter(sql, scope, key, told, removed.fact) : told;
  // It stays a merged one as long as it stands for the same.
  const earlier = before ?? versions[1]?.fact;
  const isSame = earlier?.merges === true && earlier.supersedes.join("\0") === held.supersedes.join("\0");
  const { merges: _, ...plain } = held;
  const after = merges || isSame ? { ...plain, merges: true } : plain;
  const linked = yield* linkPredecessors(sql, scope, {
    key,
    before,
    after,
    named: removed?.fact.supersedes ?? [],
    versions: versions.slice(1),
    now,
  });
  if (isBack) yield* unbridge(sql, scope, linked);
  const later = yield* linkSuccessors(sql, scope, key, linked, supersededBy, note);
  const createdAt = known?.created_at ?? versions.at(-1)?.writtenAt;
  return { fact: { ...linked, ends: [...linked.ends, ...later] }, createdAt, last: removed ?? undefined };
}

// Gives the ends by entries that supersede it from now on. It is no more than a word about their time: they stay as they are.
function* linkSuccessors(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  fact: KeptFact,
  successors: readonly string[],
  { origin, ...note }: VersionNote,
): Operation<EntryEnd[]> {
  const now = isoNow();
  const ends: EntryEnd[] = [];
  for (const by of new Set(successors.filter((each) => fact.ends.every((end) => end.by !== each)).sort())) {
    const row = yield* lockEntry(sql, scope, by);
    if (row === null) throw noSuccessor(scope, key, by);
    const successor = factOf(row);
    if ((yield* successorsOf(sql, scope, by, successor)).has(key)) throw circle(scope, by, key);
    const after = { ...successor, supersedes: [...successor.supersedes, key] };
    const author = { ...note, origin: origin && { ...origin, messageIds: [] } };
    yield* recordEntry(scope, by, row, { content: row.content, fact: after }, author);
    yield* putFact(sql, scope, row, after);
    // Where its beginning is unknown, it held when it was written.
    ends.push({ validTo: successor.validFrom ?? row.created_at, invalidatedAt: now, by });
  }
  return ends;
}

const noSuccessor = ({ label }: EntryScope, key: string, successor: string) =>
  invalid(
    `Entry "${key}" cannot be superseded by "${successor}", which is not there. Name keys of entries of its label.`,
    {
      label,
      key,
      successor,
    },
  );

// Errors: `ENTRY_CONFLICT`.
function heldAgain({ label }: EntryScope, key: string, fact: KeptFact, now: string): KeptFact {
  const [by] = fact.ends.flatMap((end) => end.by ?? []);
  if (by !== undefined) {
    const message = `Entry "${key}" is superseded by "${by}": write that one, or one with a key of its own.`;
    throw new StemmaError("ENTRY_CONFLICT", { label, key }, message);
  }
  const isOver = (time: string | null) => time !== null && time <= now;
  const ends = fact.ends.filter(({ validTo }) => !isOver(validTo));
  return { ...fact, ends, expiresAt: isOver(fact.expiresAt) ? null : fact.expiresAt };
}

function assertEntry({ label }: EntryScope, { key, content }: Pick<StoredEntry, "key" | "content">): void {
  assertNamed(key, "The key of an entry");
  assertStorable("An entry's", { label, key, content });
}

function assertExpected(scope: EntryScope, key: string, known: EntryRow | null, { expectedContent }: EntryNote): void {
  if (expectedContent === undefined || expectedContent === (known?.content ?? null)) return;
  const message = `Entry "${key}" ${known === null ? "is not there" : "says something else"}: read it again, then write.`;
  throw new StemmaError("ENTRY_CONFLICT", { label: scope.label, key }, message);
}

/** The ends of an entry, as a read gives them. */
const READ_ENDS = ["invalidatedAt", "supersededBy", "ends"] as const;

// An entry that was read may be written. What ends it is no field to write: an end that others give it does not become its own.
function saidIn({ label }: EntryScope, entry: StoredEntry, known: EntryRow | null): StoredEntry {
  const given = entry as Partial<ListedEntry>;
  const names = READ_ENDS.filter((name) => given[name] !== undefined);
  if (names.length === 0) return entry;
  const present = shownFact(known === null ? NO_FACT : factOf(known));
  const changed = names.find((name) => !sameJson(given[name], present[name]));
  if (changed === undefined) return entry.validTo === present.validTo ? { ...entry, validTo: undefined } : entry;
  const message = `Entry "${entry.key}" does not have the ${changed} that it is written with. What ends it is written as its validTo, or as keys of its successors: set(scope, entry, { supersededBy: keys }).`;
  throw invalid(message, { label, key: entry.key, [changed]: given[changed] });
}

/** The operation behind `EntryCheck`. Errors: `ENTRY_CONFLICT`. */
export function* checkEntry(sql: Dialect, scope: EntryScope, asRead: ListedEntry): Operation<void> {
  const { key } = asRead;
  yield* lockChains(sql, scope);
  const row = yield* lockEntry(sql, scope, key);
  if (row !== null && sameJson(entryOf(row), asRead)) return;
  const message = `Entry "${key}" was changed since it was read: read it again, then write.`;
  throw new StemmaError("ENTRY_CONFLICT", { label: scope.label, key }, message);
}

// Gives the time of the version, which follows the one that is the newest. Of an entry that is not kept in its history yet, what it said
// is kept as well.
function* recordEntry(
  scope: EntryScope,
  key: string,
  old: EntryRow | null,
  { content, fact }: { readonly content: string | null; readonly fact: KeptFact },
  note: VersionNote,
  last?: LastVersion,
): Operation<string> {
  const versionKey = entryVersionKey(scope, key);
  let version = last ?? (yield* lastVersion(versionKey));
  if (old !== null && !version.isPresent) {
    version = { ...version, number: version.number + 1, isPresent: true };
    yield* keepVersion(versionKey, presentVersion(version.number, old), note.keepVersions);
  }
  const written = newVersion(version.number + 1, content, note, fact);
  yield* keepVersion(versionKey, written, note.keepVersions);
  return written.writtenAt;
}

const presentVersion = (version: number, row: EntryRow) =>
  unrecorded(version, row.content, row.updated_at, factOf(row));

/** The operation behind `EntryStore.versions`. */
export function* readEntryVersions(sql: Dialect, scope: EntryScope, key: string): Operation<StoredVersion[]> {
  const versions = yield* readVersions(entryVersionKey(scope, key));
  const present = yield* findEntryRow(sql, scope, key);
  const isKept = present === null || typeof versions[0]?.content === "string";
  if (isKept) return versions;
  return [presentVersion((versions[0]?.version ?? 0) + 1, present), ...versions];
}

/** The operation behind `EntryStore.append`. */
export function* appendEntry(
  sql: Dialect,
  scope: EntryScope,
  entry: Pick<StoredEntry, "key" | "content">,
  maxTokens: number,
  note: VersionNote & Pick<EntryNote, "holds">,
): Operation<Pick<StoredEntry, "key" | "content" | "value">> {
  assertEntry(scope, entry);
  yield* dateSession(sql, scope.sessionId);
  const own = yield* findOwnEntryRow(scope, entry.key, sql.forUpdate);
  const old = own ?? (yield* findUpgradedRow(sql, scope, entry.key));
  const { key, content } = entry;
  const { fact, createdAt, last } = yield* writtenFact(sql, scope, { key, content }, old, note);
  const next: StoredEntry = { key: entry.key, content: appendText(old?.content ?? "", entry.content) };
  if (old !== null && old.value !== null) next.value = parseValue(old.key, old.value);
  assertBudget(scope.label, next.content, maxTokens);
  const now = yield* recordEntry(scope, entry.key, old, { content: next.content, fact }, note, last);
  yield* putEntry(sql, scope, { ...next, fact, createdAt: createdAt ?? now, updatedAt: now }, own);
  return next;
}

/** The operation behind `EntryStore.delete`. */
export function* deleteEntry(sql: Dialect, scope: EntryScope, key: string, note: EntryNote): Operation<void> {
  yield* lockChains(sql, scope);
  const present = yield* lockEntry(sql, scope, key);
  assertExpected(scope, key, present, note);
  if (present !== null) {
    yield* dateSession(sql, scope.sessionId);
    const fact = factOf(present);
    yield* openPredecessors(sql, scope, key, fact.supersedes);
    yield* bridge(sql, scope, key, fact);
    if (note.keepVersions !== 0) yield* recordEntry(scope, key, present, { content: null, fact }, note);
  }
  if (note.keepVersions === 0) {
    const fact = present === null ? (yield* lastVersion(entryVersionKey(scope, key))).fact : factOf(present);
    yield* forgetNeighbour(sql, scope, key, fact);
    yield* removeVersions(entryVersionKey(scope, key));
  }
  for (const sessionId of [scope.sessionId, UPGRADED_ROWS]) {
    const old = yield* findOwnEntryRow({ ...scope, sessionId }, key, sql.forUpdate);
    if (old !== null) yield* removeEntry(sql, sessionId, old.n);
  }
}

/** The operation behind `Store.pruneExpired`. What an entry superseded stays ended. */
export function* pruneExpired(
  sql: Dialect,
  sessionId: string,
  { limit, dryRun = false }: Pick<PruneRequest, "limit" | "dryRun">,
): Operation<Pruned> {
  assertCount(limit, "The limit of pruneExpired()");
  const from = "FROM cf_agents_search_entries e WHERE e.session_id = ? AND e.expires_at <= ?";
  const now = isoNow();
  if (dryRun) {
    return { deleted: { entries: yield* oneNumber(`SELECT count(*) AS count ${from}`, sessionId, now) }, done: true };
  }
  yield* lockChains(sql, { sessionId });
  const query = `SELECT e.label AS label, e.key AS key, e.fact AS fact, e.n AS n ${from} ORDER BY e.n LIMIT ?${sql.forUpdate}`;
  const rows = yield* all<{ label: string; key: string; fact: string | null; n: number }>(query, sessionId, now, limit);
  for (const { label, n, ...row } of rows) {
    const scope = { sessionId, label };
    const fact = factOf(row);
    yield* keepEnds(sql, scope, row.key, fact.supersedes);
    yield* forgetNeighbour(sql, scope, row.key, fact);
    yield* removeVersions(entryVersionKey(scope, row.key));
    yield* removeEntry(sql, sessionId, n);
  }
  return { deleted: { entries: rows.length }, done: rows.length < limit };
}

/** Ranks the entries `e` for which a condition holds, at most `limit`. */
export type RankEntries = (within: EntriesWithin, limit: number) => Operation<readonly Ranked[]>;

/** The operation behind `EntryStore.search`. */
export function* searchEntries(
  sql: Dialect,
  scope: EntryScope,
  query: SearchQuery,
  options: SearchEntriesOptions,
  rank: RankEntries = (within, most) => searchOf(sql).entries(query, within, most),
): Operation<FoundEntry[]> {
  const { limit, prefix, after, before, includeEnded, includeExpired, asOf, knownAt, filter } = options;
  const view = { includeEnded, includeExpired, asOf, knownAt, filter };
  const { where, values, sessionIds } = inScope(sql, scope);
  const chosen = yield* chosenBy(sql, scope, view);
  const keys = prefix === undefined ? ALL_KEYS : orderedPage(sql, "e.key", { prefix });
  const conditions = [
    { condition: where, values },
    chosen.isWhole ? chosen : yield* among(sql, scope, { ...view, prefix }),
    keys,
    ...writtenAt(">=", after),
    ...writtenAt("<", before),
  ];
  const within = {
    where: conditions.map(({ condition }) => condition).join(" AND "),
    values: conditions.flatMap((each) => each.values),
    sessionIds,
  };
  const found: FoundEntry[] = [];
  for (const { n: rowId, score } of yield* rank(within, limit)) {
    const query = `SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND n = ?`;
    const row = yield* first<EntryRow>(query, ...values, rowId);
    const entry = row === undefined ? null : yield* chosen.show(row);
    if (entry !== null) found.push({ ...entry, score: Number(score) });
  }
  return found;
}

// What no statement can choose is chosen before it is ranked.
function* among(sql: Dialect, scope: EntryScope, options: ListEntriesOptions): Operation<Condition> {
  const entries = yield* listEntries(sql, scope, { ...options, limit: Number.MAX_SAFE_INTEGER });
  const condition = `e.key IN (SELECT text FROM ${sql.textTable} AS chosen)`;
  return { condition, values: [JSON.stringify(entries.map(({ key }) => key))] };
}

/** The condition that an entry was last written before a time, or from it on; none without one. */
const writtenAt = (is: "<" | ">=", time: number | undefined) =>
  time === undefined ? [] : [{ condition: `e.updated_at ${is} ?`, values: [new Date(time).toISOString()] }];

const ALL_KEYS: Condition = { condition: "TRUE", values: [] };
