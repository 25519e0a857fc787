import type { RemoteCall, RemoteRequest } from "@stemma/store";
import type { ServerEnv } from "../http/server-app.js";
import { rowOf, type StoreCalls } from "./store-calls.js";

type Counting = Pick<ServerEnv["Variables"], "spend" | "wasDone" | "numbersDone">;

/** True for a call that may write. */
export function mayWrite(call: RemoteCall): boolean {
  return rowOf(call).mode !== "read";
}

/**
 * Counts the calls of a request that write, and `bytes`. What was done before, and is asked for again, does not count. Errors:
 * `QUOTA_EXCEEDED`.
 */
export async function countWrites(
  { calls, again }: RemoteRequest,
  made: StoreCalls,
  bytes: number,
  { spend, wasDone, numbersDone }: Counting,
): Promise<void> {
  const ofBatch = new Map<string, ReturnType<typeof numbersDone>>();
  const isNew = async (call: RemoteCall) => {
    const operation = again === true ? made.operationOf(call) : null;
    if (operation === null) return true;
    const { id, session, userId } = operation;
    if (session === undefined) return !(await wasDone(id, { name: call.call, userId }));
    const key = JSON.stringify([session, userId]);
    const done = ofBatch.get(key) ?? numbersDone(id, session, userId);
    ofBatch.set(key, done);
    return !(await done).has(call.n);
  };
  // A call that cannot be made is refused when it is made.
  const news = calls.filter(mayWrite).map((call) => isNew(call).catch(() => true));
  const writes = (await Promise.all(news)).filter(Boolean).length;
  if (writes > 0) await spend({ writes, bytes });
}
