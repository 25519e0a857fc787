import { StemmaError, untilEnd } from "@stemma/model";
import type { Principal } from "../access/principal.js";
import { isEvents, isStream, type ServerCall, setBody } from "./server-app.js";
import type { ServerOptions } from "./server-options.js";

/** Milliseconds for which an answer of `authenticate` counts, while an answer goes on. */
const LET_IN_FOR = 10_000;
/** How often it is asked of a stream. */
const INTERVAL = 5_000;

/** Tells whether a request is still from this principal: its key may have been revoked. */
export function letIn(
  principal: Principal,
  request: Request,
  authenticate: ServerOptions["authenticate"],
): () => Promise<boolean> {
  let until = performance.now() + LET_IN_FOR;
  let answer = Promise.resolve(true);
  return () => {
    if (performance.now() >= until) {
      until = performance.now() + LET_IN_FOR;
      answer = isFrom(principal, request, authenticate);
    }
    return answer;
  };
}

// Where it cannot be found out, an answer ends, and its reader comes again.
async function isFrom(
  principal: Principal,
  request: Request,
  authenticate: ServerOptions["authenticate"],
): Promise<boolean> {
  try {
    return JSON.stringify(await authenticate(request)) === JSON.stringify(principal);
  } catch {
    return false;
  }
}

/**
 * Ends an answer that is a stream soon after its reader is no longer let in. Events are at their end; anything else breaks off, since it would
 * seem whole.
 */
export function whileLetIn(c: ServerCall): void {
  const { res } = c;
  // Of an answer to HEAD nobody reads the body, so that nothing would end the timer.
  if (!isStream(res) || res.body === null || c.req.raw.method === "HEAD") return;
  const { isLetIn } = c.var;
  const left = new AbortController();
  const timer = setInterval(async () => {
    if (await isLetIn()) return;
    left.abort(
      isEvents(res) ? undefined : new StemmaError("NOT_ALLOWED", {}, "The key or the token is no longer valid."),
    );
  }, INTERVAL);
  // A process does not stay for it. Workers have numbers.
  (timer as { unref?(): void }).unref?.();
  setBody(
    c,
    untilEnd(res.body, () => clearInterval(timer), left.signal),
  );
}
