import { invalid } from "@stemma/model";
import type { EntryEnd, EntryScope, FactOrigin, StoredVersion } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation } from "../../engine/operation.js";
import { inScope } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { EARLIEST, endedBy, inOrder, type KeptFact, weakest } from "./entry-fact.js";
import {
  ENTRY_COLUMNS,
  type EntryRow,
  factOf,
  findEntryRow,
  findOwnEntryRow,
  findUpgradedRow,
  type NumberedRow,
  putFact,
} from "./entry-rows.js";
import { endIn, entryVersionKey, forgetInVersions, lastVersion, readVersions } from "./versions.js";

/** An entry before and after a write. Before: null for one that was not there. */
interface Change {
  readonly key: string;
  readonly before: KeptFact | null;
  readonly after: KeptFact;
  /** Predecessors of which nothing need be known. */
  readonly named: readonly string[];
  /** The versions of an entry that comes back, the newest first, without its removal. */
  readonly versions: readonly StoredVersion[];
  readonly now: string;
}

/**
 * Ends what an entry supersedes now, and lets hold again what it supersedes no more. Gives the fact with the origin that it has
 * of them. Errors: `INVALID_ARGUMENT`.
 */
export function* linkPredecessors(sql: Dialect, scope: EntryScope, change: Change): Operation<KeptFact> {
  const { key, before, versions, now } = change;
  const known = new Set(before?.supersedes);
  const given = change.after.supersedes;
  const isFresh = (each: string) => !known.has(each);
  const isOld = given.length === known.size && given.every((each) => known.has(each));
  const above = isOld ? new Set<string>() : yield* successorsOf(sql, scope, key, change.after);
  for (const each of given) if (isFresh(each) && above.has(each)) throw circle(scope, key, each);
  const reachable = isOld ? given : yield* throughRemoved(sql, scope, given);
  const reached = reachable.filter((each) => given.includes(each) || !above.has(each));
  const after = { ...change.after, supersedes: reached };
  const fresh = reached.filter(isFresh);
  yield* openPredecessors(
    sql,
    scope,
    key,
    [...known].filter((each) => !after.supersedes.includes(each)),
  );
  const isSame = before !== null && before.validFrom === after.validFrom && before.origin === after.origin;
  if (fresh.length === 0 && isSame) return after;
  const origins: (FactOrigin | null)[] = [after.origin];
  const began = (before ?? versions[0]?.fact)?.validFrom;
  // Whoever writes two of them at once waits for the other in one order.
  for (const each of [...after.supersedes].sort()) {
    const row = yield* lockEntry(sql, scope, each);
    if (row === null) {
      const mayMiss =
        known.has(each) || change.named.includes(each) || (yield* lastVersion(entryVersionKey(scope, each))).number > 0;
      if (!mayMiss) throw noPredecessor(scope, key, each);
      continue;
    }
    const fact = factOf(row);
    const end = fact.ends.find(({ by }) => by === key);
    const time = row.created_at > now ? row.created_at : now;
    // An end moves with the beginning of the successor: it is now where that is taken away.
    const isUndone = began != null && after.validFrom === null;
    // What stands behind a removed one ends with it.
    const [named = each] = given;
    const kept = isUndone ? undefined : (end ?? endIn(versions, each) ?? endIn(versions, named))?.validTo;
    const validTo = after.validFrom ?? kept ?? (after.merges ? EARLIEST : now);
    yield* putFact(sql, scope, row, { ...fact, ends: endedBy(fact.ends, key, validTo, time) });
    origins.push(fact.origin);
  }
  return { ...after, origin: weakest(origins) };
}

/** Lets hold again what an entry ended. */
export function* openPredecessors(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  predecessors: readonly string[],
): Operation<void> {
  yield* changeEach(sql, scope, predecessors, (fact) => ({ ...fact, ends: endedBy(fact.ends, key, null, "") }));
}

/** Leaves ended what an entry superseded, though it is removed for good. */
export function* keepEnds(sql: Dialect, scope: EntryScope, key: string, predecessors: readonly string[]) {
  yield* changeEach(sql, scope, predecessors, (fact) => {
    const [end] = fact.ends.filter(({ by }) => by === key || by === null).sort(inOrder);
    const others = fact.ends.filter(({ by }) => by !== key && by !== null);
    return { ...fact, ends: end === undefined ? others : [...others, { ...end, by: null }] };
  });
}

/** Makes successors and versions of others forget the key of an entry that is removed for good. */
export function* forgetNeighbour(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  { supersedes, ends }: KeptFact,
): Operation<void> {
  // It looks at all entries: most stand beside none.
  if (supersedes.length + ends.length === 0) return;
  yield* forgetInVersions(scope, key);
  yield* supersedeNoMore(sql, scope, key, yield* presentEnds(sql, scope, key, []));
}

/**
 * Frees an entry that comes back with a later beginning than it had from successors that began before that: what they took the place
 * of was an earlier time.
 */
export function* holdAfter(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  fact: KeptFact,
  before: KeptFact,
): Operation<KeptFact> {
  const { validFrom, ends } = fact;
  if (validFrom === null || validFrom <= (before.validFrom ?? EARLIEST)) return fact;
  const isOver = ({ by, validTo }: EntryEnd) => by !== null && validTo < validFrom;
  yield* supersedeNoMore(sql, scope, key, ends.filter(isOver));
  return { ...fact, ends: ends.filter((end) => !isOver(end)) };
}

function* supersedeNoMore(sql: Dialect, scope: EntryScope, key: string, ends: readonly EntryEnd[]): Operation<void> {
  const successors = ends.flatMap(({ by }) => by ?? []);
  yield* changeEach(sql, scope, successors, (fact) => ({
    ...fact,
    supersedes: fact.supersedes.filter((each) => each !== key),
  }));
}

/** Hangs what an entry superseded, which is removed, on its successors: it ends where they begin. */
export function* bridge(sql: Dialect, scope: EntryScope, key: string, fact: KeptFact): Operation<void> {
  for (const { by, validTo } of fact.ends) {
    const row = by === null ? null : yield* lockEntry(sql, scope, by);
    const successor = row === null ? null : factOf(row);
    if (row === null || successor === null || !successor.supersedes.includes(key)) continue;
    const added = fact.supersedes.filter((each) => !successor.supersedes.includes(each));
    if (added.length === 0) continue;
    yield* putFact(sql, scope, row, { ...successor, supersedes: [...successor.supersedes, ...added] });
    // Until now it ended by the removed one, as its versions say.
    const now = isoNow();
    yield* changeEach(sql, scope, added, (each) => ({ ...each, ends: endedBy(each.ends, by, validTo, now) }));
  }
}

/** Takes back what `bridge` did, once the entry has come back: what its successors did not say themselves. */
export function* unbridge(sql: Dialect, scope: EntryScope, { supersedes, ends }: KeptFact): Operation<void> {
  if (supersedes.length === 0) return;
  for (const { by } of ends) {
    const row = by === null ? null : yield* lockEntry(sql, scope, by);
    if (row === null) continue;
    const said = yield* lastVersion(entryVersionKey(scope, row.key));
    const successor = factOf(row);
    const isBridged = (each: string) =>
      said.isPresent && supersedes.includes(each) && !said.fact.supersedes.includes(each);
    const bridged = successor.supersedes.filter(isBridged);
    if (bridged.length === 0) continue;
    const own = successor.supersedes.filter((each) => !isBridged(each));
    yield* putFact(sql, scope, row, { ...successor, supersedes: own });
    yield* openPredecessors(sql, scope, row.key, bridged);
  }
}

/** The ends of an entry that comes back after it was removed: by those that are there and supersede it, as they did before if they did. */
export function* presentEnds(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  before: readonly EntryEnd[],
): Operation<EntryEnd[]> {
  const { where, values } = inScope(sql, scope);
  const query = `SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND replace(fact, ?, '') <> fact`;
  const rows = yield* all<EntryRow>(query, ...values, JSON.stringify(key));
  const ends: EntryEnd[] = [];
  for (const row of rows) {
    const { supersedes, validFrom } = factOf(row);
    if (!supersedes.includes(key)) continue;
    const known =
      before.find(({ by }) => by === row.key) ?? endIn(yield* readVersions(entryVersionKey(scope, row.key)), key);
    const { validTo, invalidatedAt } = known ?? { validTo: row.created_at, invalidatedAt: row.created_at };
    ends.push({ validTo: validFrom ?? validTo, invalidatedAt, by: row.key });
  }
  return ends;
}

// Whoever takes the place of what is removed, takes that of what it superseded.
function* throughRemoved(sql: Dialect, scope: EntryScope, keys: readonly string[]): Operation<string[]> {
  const found = new Set<string>();
  const left = [...keys].reverse();
  for (let key = left.pop(); key !== undefined; key = left.pop()) {
    if (found.has(key)) continue;
    found.add(key);
    if ((yield* findEntryRow(sql, scope, key)) !== null) continue;
    left.push(...(yield* lastVersion(entryVersionKey(scope, key))).fact.supersedes);
  }
  return [...found];
}

function* changeEach(
  sql: Dialect,
  scope: EntryScope,
  keys: readonly string[],
  change: (fact: KeptFact) => KeptFact,
): Operation<void> {
  for (const key of [...keys].sort()) {
    const row = yield* lockEntry(sql, scope, key);
    if (row !== null) yield* putFact(sql, scope, row, change(factOf(row)));
  }
}

/** Makes others wait who change chains: whoever goes along one would meet whoever goes back, each with entries that the other one waits for. */
export function* lockChains({ lockSession }: Dialect, { sessionId }: Pick<EntryScope, "sessionId">): Operation<void> {
  if (lockSession !== null) yield* lockSession(sessionId);
}

/** The row of an entry, which other writers wait for. */
export function* lockEntry(sql: Dialect, scope: EntryScope, key: string): Operation<NumberedRow | null> {
  return (yield* findOwnEntryRow(scope, key, sql.forUpdate)) ?? (yield* findUpgradedRow(sql, scope, key));
}

/** An entry and all that came to stand in its place: it supersedes none of them. */
export function* successorsOf(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  { ends }: Pick<KeptFact, "ends">,
): Operation<ReadonlySet<string>> {
  const seen = new Set([key]);
  const left = ends.flatMap(({ by }) => by ?? []);
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const row = yield* findEntryRow(sql, scope, next);
    if (row !== null) left.push(...factOf(row).ends.flatMap(({ by }) => by ?? []));
  }
  return seen;
}

export const circle = ({ label }: EntryScope, key: string, predecessor: string) =>
  invalid(
    `Entry "${key}" cannot supersede "${predecessor}", which is its own successor: give a successor a key of its own.`,
    { label, key, predecessor },
  );

const noPredecessor = ({ label }: EntryScope, key: string, predecessor: string) =>
  invalid(`Entry "${key}" cannot supersede "${predecessor}", which is not there. Name keys of entries of its label.`, {
    label,
    key,
    predecessor,
  });
