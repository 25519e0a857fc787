import { endRun } from "../session/run-record.js";
import type { Erased, Residue, RowCounts, Store } from "../storage/contract.js";
import type { EraseOptions, ErasureReceipt } from "./options.js";

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

/** See `SessionManager.eraseUser`. */
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
export function sumOf<C extends Partial<RowCounts>>(counts: readonly C[]): C {
  const sum: Record<string, number> = {};
  for (const [kind, rows] of counts.flatMap((one) => Object.entries(one))) sum[kind] = (sum[kind] ?? 0) + rows;
  return sum as C;
}

/** What may be left in a store's files of what was deleted just now. */
export function residueOf({ scrub, capabilities }: Store): Residue {
  if (scrub === undefined) return "unknown";
  return capabilities.durable ? "pending" : "none";
}
