import type { EntryEnd, EntryScope, ListedEntry, StoredVersion } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Condition, type Operation } from "../../engine/operation.js";
import { inScope } from "../messages/upgraded-rows.js";
import { keptFact, shownFact } from "./entry-fact.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf, factOf } from "./entry-rows.js";
import { endIn, entryVersionKey, lastVersion, VERSION_COLUMNS, type VersionRow, versionOf } from "./versions.js";

/** The row of an entry, or one of `withRemoved`. */
export interface KnownRow extends EntryRow {
  /** 1 where it stands for an entry that was removed. */
  readonly removed?: number;
}

/** True for a row that stands for an entry that was removed. */
const isRemoved = ({ removed }: KnownRow) => Number(removed) === 1;

/** A table `e` of the entries of a scope, and of those that were removed and have versions from before a time. */
export function withRemoved(sql: Dialect, scope: EntryScope, time: string): Condition {
  const { where, values } = inScope(sql, scope);
  const { sessionId, label } = scope;
  const condition = `(SELECT ${ENTRY_COLUMNS}, expires_at, 0 AS removed FROM cf_agents_search_entries e WHERE ${where}
    UNION ALL SELECT v.key, '' AS content, NULL AS value, NULL AS fact, min(v.written_at) AS created_at,
      min(v.written_at) AS updated_at, NULL AS expires_at, 1 AS removed FROM assistant_versions v WHERE v.session_id = ? AND v.kind = 'entry' AND v.label = ? AND v.written_at <= ?
      AND NOT EXISTS (SELECT 1 FROM cf_agents_search_entries p
        WHERE p.session_id = v.session_id AND p.label = v.label AND p.key = v.key)
    GROUP BY v.key) AS e`;
  return { condition, values: [...values, sessionId, label, time] };
}

/** The entries of a scope as they were known at a time. */
export class KnownEntries {
  #since: Since | null = null;

  constructor(
    private readonly scope: EntryScope,
    private readonly time: string,
  ) {}

  /** The entry of a row as it was known; null for one that was not. */
  *show(row: KnownRow): Operation<ListedEntry | null> {
    this.#since ??= yield* changedSince(this.scope, this.time);
    const { changed, removed } = this.#since;
    const { key, created_at, updated_at } = row;
    const versions = changed.get(key);
    const then = versions?.[0];
    const isMissing =
      then === undefined ? isRemoved(row) || created_at > this.time || updated_at > this.time : then.content === null;
    if (isMissing) return null;
    const present = isRemoved(row) ? (yield* lastVersion(entryVersionKey(this.scope, key))).fact : factOf(row);
    const fact = then === undefined ? present : keptFact(then.fact);
    const own = fact.ends.filter(({ by }) => by === null);
    const lost = removed.get(key)?.fact?.ends.filter((end) => present.ends.every(({ by }) => by !== end.by)) ?? [];
    const ends = [...own, ...(yield* this.#endsBySuccessors(changed, key, [...present.ends, ...lost]))];
    const shown = shownFact({ ...fact, ends: ends.filter(({ invalidatedAt }) => invalidatedAt <= this.time) });
    const said = then === undefined ? {} : { content: then.content ?? "", updatedAt: then.writtenAt };
    return { ...entryOf(row), ...said, ...shown };
  }

  // By those that stand as they stood then, and by the others as their versions of then say.
  *#endsBySuccessors(changed: Since["changed"], key: string, present: readonly EntryEnd[]): Operation<EntryEnd[]> {
    const ends = present.filter(({ by }) => by !== null && !changed.has(by));
    for (const [by, versions] of changed) {
      const [then] = versions;
      const known = present.find((end) => end.by === by && end.invalidatedAt <= this.time);
      // What it ended through a removed one, its versions do not say.
      const end = endIn(versions, key) ?? known;
      if (then === undefined || then.content === null || end === undefined) continue;
      const validTo = then.fact?.validFrom ?? (yield* this.#undatedEnd(by, end.validTo, known));
      ends.push({ validTo, invalidatedAt: (known ?? end).invalidatedAt, by });
    }
    return ends;
  }

  // Since when a successor without a beginning ended another one, as it was known. Its versions do not say what end it was given, which stands until
  // its beginning moves; of one that was removed since, they are all there is.
  *#undatedEnd(by: string, inVersions: string, known: EntryEnd | undefined): Operation<string> {
    if (known === undefined || known.validTo > this.time) return inVersions;
    const { fact } = yield* lastVersion(entryVersionKey(this.scope, by));
    return fact.validFrom === null ? known.validTo : inVersions;
  }
}

/** Entries that were written or removed since a time, as they were. */
interface Since {
  /** Their versions until then, the newest first. */
  readonly changed: ReadonlyMap<string, readonly StoredVersion[]>;
  /** The version of their first removal since. It tells all that had ended them, which one that comes back may have lost. */
  readonly removed: ReadonlyMap<string, StoredVersion>;
}

function* changedSince(scope: EntryScope, time: string): Operation<Since> {
  const query = `SELECT v.key AS key, ${VERSION_COLUMNS} FROM assistant_versions v
    WHERE v.session_id = ? AND v.kind = 'entry' AND v.label = ? AND (v.written_at <= ? OR v.content IS NULL) AND EXISTS (
      SELECT 1 FROM assistant_versions w WHERE w.session_id = v.session_id AND w.kind = v.kind AND w.label = v.label
        AND w.key = v.key AND w.written_at > ?) ORDER BY version DESC`;
  const rows = yield* all<VersionRow & { key: string }>(query, scope.sessionId, scope.label, time, time);
  const changed = new Map<string, StoredVersion[]>();
  const removed = new Map<string, StoredVersion>();
  for (const row of rows) {
    const versions = changed.get(row.key);
    if (row.written_at > time) removed.set(row.key, versionOf(row));
    else if (versions === undefined) changed.set(row.key, [versionOf(row)]);
    else versions.push(versionOf(row));
  }
  return { changed, removed };
}

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
