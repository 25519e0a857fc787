import { invalid } from "@stemma/model";
import type { EntryEnd, EntryScope, FactOrigin } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import { endedBy, type KeptFact, weakest } from "./entry-fact.js";
import { factOf, findEntryRow, findOwnEntryRow, type NumberedRow, putFact } from "./entry-rows.js";

/** An entry before and after a write. Before: null for one that was not there. */
interface Change {
  readonly key: string;
  readonly before: KeptFact | null;
  readonly after: KeptFact;
  /** Predecessors that need not be there. */
  readonly named: readonly string[];
  /** New predecessors end now. */
  readonly endsNow: boolean;
  readonly now: string;
}

/**
 * Ends what an entry supersedes now, and lets hold again what it supersedes no more. Gives the fact with the origin that it has
 * of them. Errors: `INVALID_ARGUMENT`.
 */
export function* linkPredecessors(sql: Dialect, scope: EntryScope, change: Change): Operation<KeptFact> {
  const { key, before, after, named, endsNow, now } = change;
  const known = new Set(before?.supersedes);
  const fresh = after.supersedes.filter((each) => !known.has(each));
  yield* assertNoCircle(sql, scope, change, fresh);
  yield* openPredecessors(
    sql,
    scope,
    key,
    [...known].filter((each) => !after.supersedes.includes(each)),
  );
  const isSame = before !== null && before.validFrom === after.validFrom && before.origin === after.origin;
  if (fresh.length === 0 && isSame) return after;
  const origins: (FactOrigin | null)[] = [after.origin];
  // Whoever writes two of them at once waits for the other in one order.
  for (const each of [...after.supersedes].sort()) {
    const row = yield* lockEntry(sql, scope, each);
    if (row === null && !known.has(each) && !named.includes(each)) throw noPredecessor(scope, key, each);
    if (row === null) continue;
    const fact = factOf(row);
    const end = fact.ends.find(({ by }) => by === key);
    const time = row.created_at > now ? row.created_at : now;
    // What ended when it was superseded stays so; another end moves with the beginning of the successor.
    const hasOwnEnd =
      (endsNow && fresh.includes(each)) ||
      (before?.validFrom != null && end !== undefined && end.validTo !== before.validFrom);
    const validTo = (hasOwnEnd ? null : after.validFrom) ?? end?.validTo ?? now;
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
    const [end] = fact.ends.filter(({ by }) => by === key || by === null).sort(earliest);
    const others = fact.ends.filter(({ by }) => by !== key && by !== null);
    return { ...fact, ends: end === undefined ? others : [...others, { ...end, by: null }] };
  });
}

const earliest = (one: EntryEnd, other: EntryEnd) => (one.validTo < other.validTo ? -1 : 1);

/** The successors of an entry that is removed for good name it no more. */
export function* forgetPredecessor(sql: Dialect, scope: EntryScope, key: string, { ends }: KeptFact): Operation<void> {
  const successors = ends.flatMap(({ by }) => by ?? []);
  yield* changeEach(sql, scope, successors, (fact) => ({
    ...fact,
    supersedes: fact.supersedes.filter((each) => each !== key),
  }));
}

/** The ends of an entry that comes back after it was removed: by those of its successors that are there and still name it. */
export function* presentEnds(
  sql: Dialect,
  scope: EntryScope,
  key: string,
  ends: readonly EntryEnd[],
): Operation<EntryEnd[]> {
  const found: EntryEnd[] = [];
  for (const end of ends) {
    const row = end.by === null ? null : yield* findEntryRow(sql, scope, end.by);
    if (row !== null && factOf(row).supersedes.includes(key)) found.push(end);
  }
  return found;
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

function* lockEntry(sql: Dialect, scope: EntryScope, key: string): Operation<NumberedRow | null> {
  return (yield* findOwnEntryRow(scope, key, sql.forUpdate)) ?? (yield* findEntryRow(sql, scope, key));
}

// Only an entry that has successors can be one of theirs.
function* assertNoCircle(
  sql: Dialect,
  scope: EntryScope,
  { key, after }: Change,
  fresh: readonly string[],
): Operation<void> {
  if (fresh.length === 0) return;
  const seen = new Set([key]);
  const left = after.ends.flatMap(({ by }) => by ?? []);
  if (fresh.includes(key)) throw circle(scope, key, key);
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (fresh.includes(next)) throw circle(scope, key, next);
    const row = yield* findEntryRow(sql, scope, next);
    if (row !== null) left.push(...factOf(row).ends.flatMap(({ by }) => by ?? []));
  }
}

const circle = ({ label }: EntryScope, key: string, predecessor: string) =>
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
