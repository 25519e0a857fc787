import { untilEnd } from "@stemma/model";
import type { Store } from "@stemma/store";
import type { Principal } from "../access/principal.js";
import type { Tenants } from "../tenants/tenants.js";
import { isStream } from "./let-in.js";
import type { ServerCall } from "./server-app.js";

/**
 * Answers a request on the store that its principal is to reach: their tenant's, which is held until the answer is sent, or the
 * server's own. Errors: those of `Tenants.hold`, of `answer`.
 */
export async function onStoreOf(
  { tenant }: Principal,
  own: Store,
  tenants: Tenants | undefined,
  c: ServerCall,
  answer: (store: Store) => Promise<void>,
): Promise<void> {
  if (tenants === undefined || tenant === undefined) return answer(own);
  const { store, release } = await tenants.hold(tenant);
  let isSending = false;
  try {
    await answer(store);
    isSending = holdAnswer(c, release);
  } finally {
    if (!isSending) release();
  }
}

/** Calls `ended` once the answer is sent, where that is a stream. False for any other, which is there by now. */
function holdAnswer(c: ServerCall, ended: () => void): boolean {
  const { res } = c;
  if (!isStream(res) || res.body === null) return false;
  // Of this answer nobody reads the body, so that nothing would end it.
  if (c.req.raw.method === "HEAD") {
    void res.body.cancel().catch(() => {});
    return false;
  }
  setAnswer(c, new Response(untilEnd(res.body, ended), res));
  return true;
}

/** Gives an answer in the place of the one that a call has. */
export function setAnswer(c: ServerCall, answer: Response): void {
  // Else the headers of both would be joined.
  c.res = undefined;
  c.res = answer;
}
