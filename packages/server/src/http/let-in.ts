import { StemmaError, untilEnd } from "@stemma/model";
import type { Principal } from "../access/principal.js";
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
 * An answer which, if it is a stream, ends soon after its reader is no longer let in. Events are at their end; anything else breaks off, since
 * it would seem whole.
 */
export function whileLetIn(response: Response, isLetIn: () => Promise<boolean>): Response {
  if (!isStream(response) || response.body === null) return response;
  const left = new AbortController();
  const timer = setInterval(async () => {
    if (await isLetIn()) return;
    left.abort(
      isEvents(response) ? undefined : new StemmaError("NOT_ALLOWED", {}, "The key or the token is no longer valid."),
    );
  }, INTERVAL);
  // A process does not stay for it. Workers have numbers.
  (timer as { unref?(): void }).unref?.();
  return new Response(
    untilEnd(response.body, () => clearInterval(timer), left.signal),
    response,
  );
}

/** True for an answer that is sent as it comes: it says so to proxies. */
export function isStream(response: Response): boolean {
  return response.headers.get("x-accel-buffering") === "no" || isEvents(response);
}

const isEvents = ({ headers }: Response) => headers.get("content-type")?.startsWith("text/event-stream") === true;
