import { check, defineOptions } from "@stemma/model";
import type { Erased, MemoryScope, Pruned, Residue, RowCounts, Store } from "@stemma/store";
import { allOwners, allSessions, assertUserId, storeTime } from "@stemma/store";
import { storableFields } from "../session/arguments.js";
import { endRun } from "../session/run-record.js";
import type { EraseOptions, ErasureReceipt, RetainOptions, RetentionReceipt } from "./manager-options.js";

const RETAIN = defineOptions<RetainOptions>({
  olderThan: check.age,
  keepMessages: check.whole(1),
  keepVersions: check.whole(1),
  userId: assertUserId,
  metadata: storableFields,
  dryRun: check.flag,
});

/** How long a step is to take, in milliseconds: well below the 50 that a writer may wait, for machines that are busy. */
const STEP = { least: 5, most: 12 } as const;
/** The rows of a first step, which takes that long nowhere. Where a round trip does, fewer rows would not help. */
const FEWEST_ROWS = 32;
const MOST_ROWS = 2000;
/** Sessions that are listed at once. */
const PAGE = 100;

/** Does a step, or counts what all of them would remove. */
type Step = (step: { readonly limit: number; readonly dryRun: boolean }) => Promise<Pruned>;

/** Removes what is too old, as `SessionManager.retain` does. */
export async function retain(
  everything: Store,
  options: RetainOptions,
  removed: (sessionId: string) => void,
): Promise<RetentionReceipt> {
  RETAIN.assert(options, "retain()");
  const { olderThan, keepMessages, keepVersions, userId, metadata, dryRun = false } = options;
  const store = userId === undefined ? everything : everything.forUser(userId);
  const changedBefore = olderThan === undefined ? undefined : await timeOf(everything, olderThan);
  const found: Partial<RowCounts>[] = [];
  const prune = async (step: Step): Promise<void> => {
    const { deleted } = await step({ limit: FEWEST_ROWS, dryRun: true });
    // Most sessions have nothing to lose, and no writer waits for a look.
    if (Object.values(deleted).every((rows) => rows === 0)) return;
    if (dryRun) found.push(deleted);
    else for await (const rows of steps(step)) found.push(rows);
  };
  const pruneVersions = async (own: Store, scope: MemoryScope): Promise<void> => {
    if (keepVersions !== undefined) await prune((step) => own.pruneVersions(scope, { keep: keepVersions, ...step }));
  };
  const pruneExpired = (own: Store, scope: MemoryScope) => prune((step) => own.pruneExpired(scope, step));
  for await (const { id, updated_at } of allSessions(store, { metadata, limit: PAGE })) {
    const isOld = changedBefore !== undefined && updated_at < changedBefore;
    if (isOld || keepMessages !== undefined) {
      await prune((step) => store.sessions.prune(id, { changedBefore, keepMessages, ...step }));
    }
    if (isOld && !dryRun) removed(id);
    else if (!isOld) {
      await pruneExpired(store, { sessionId: id });
      await pruneVersions(store, { sessionId: id });
    }
  }
  // What is kept for users and keys has no metadata.
  const own = store.userId === undefined ? allOwners(store) : [{ user: store.userId }];
  for await (const owner of metadata === undefined ? own : []) {
    const [of, scope] = "key" in owner ? [store, owner] : [store.forUser(owner.user), "user" as const];
    await pruneExpired(of, { sessionId: "", scope });
    await pruneVersions(of, { sessionId: "", scope });
  }
  return { dryRun, deleted: sumOf(found), residue: residueOf(store) };
}

async function* steps(step: Step): AsyncIterable<Partial<RowCounts>> {
  for (let limit = FEWEST_ROWS, done = false; !done; ) {
    const begun = performance.now();
    const pruned = await step({ limit, dryRun: false });
    const taken = performance.now() - begun;
    yield pruned.deleted;
    ({ done } = pruned);
    if (taken < STEP.least) limit = Math.min(MOST_ROWS, limit * 2);
    if (taken > STEP.most) limit = Math.max(FEWEST_ROWS, Math.floor(limit / 2));
    // Whoever waits to write looks again now and then: there is twice as long for it as this took.
    await new Promise((resolve) => setTimeout(resolve, 2 * taken));
  }
}

async function timeOf(store: Store, olderThan: number | Date): Promise<string> {
  const time = olderThan instanceof Date ? olderThan : new Date((await storeTime(store)) - olderThan);
  return time.toISOString();
}

/** A database that is rewritten without being asked to: it takes a few tenths of a second. */
const SMALL = 16_000_000;

/** The receipt of a deletion, and of the scrubbing that follows it where that is wanted. */
export async function receiptOf(
  store: Store,
  { deleted, remaining }: Erased,
  { scrub }: EraseOptions,
): Promise<ErasureReceipt> {
  const asIs = residueOf(store);
  const scrubbing = scrub === false ? undefined : store.scrub?.(scrub === true ? {} : { maxBytes: SMALL });
  // What is deleted is deleted, whatever comes of rewriting the files.
  return { deleted, remaining, residue: (await scrubbing?.catch(() => asIs)) ?? asIs };
}

/** Erases all of a user's, as `SessionManager.eraseUser` does. */
export async function eraseUser(
  store: Store,
  userId: string,
  deleteSession: (id: string) => Promise<Erased>,
): Promise<Erased> {
  const erased: Erased[] = [];
  // What is deleted is listed no more, so a first page comes until none is left.
  for (let left = await nextSessions(store, userId); left.length > 0; left = await nextSessions(store, userId)) {
    const before = erased.length;
    // Whoever is at work in them writes nothing more when their sessions are gone.
    await Promise.all(left.map(({ id }) => endRun(store.records, id, END_TIMEOUT)));
    for (const { id } of left) erased.push(await deleteSession(id));
    // Damaged rows that stay are counted, not tried for ever.
    if (erased.slice(before).every(({ deleted }) => deleted.sessions === 0)) break;
  }
  const own = store.userId === undefined ? store.forUser(userId) : store;
  erased.push(await own.deleteMemory({ sessionId: "", scope: "user" }));
  return { deleted: sumOf(erased.map(({ deleted }) => deleted)), remaining: sumOf(erased.map((one) => one.remaining)) };
}

const AT_ONCE = 100;

/** How long an answer may take to end, in milliseconds. */
const END_TIMEOUT = 5000;

async function nextSessions({ sessions }: Store, userId: string): Promise<readonly { id: string }[]> {
  return (await sessions.list({ userId, limit: AT_ONCE })).sessions;
}

/** Adds up how many rows there are of each kind. */
function sumOf<C extends Partial<RowCounts>>(counts: readonly C[]): C {
  const sum: Record<string, number> = {};
  for (const [kind, rows] of counts.flatMap((one) => Object.entries(one))) sum[kind] = (sum[kind] ?? 0) + rows;
  return sum as C;
}

/** Whether a store's files may still hold what was deleted just now. */
function residueOf({ scrub, capabilities }: Store): Residue {
  if (scrub === undefined) return "unknown";
  return capabilities.durable ? "pending" : "none";
}
