import { once, StemmaError } from "@stemma/model";
import { assertStore, type Store } from "@stemma/store";
import { SERVER, type ServerOptions } from "./server-options.js";

/**
 * Serves a store to strangers: a function from a request to a response, for any server that speaks `fetch`. Each request is let in
 * by `authenticate`, and reaches the store through a guard. What is refused is answered as `application/problem+json`.
 * Needs the package `zod`. Errors: `INVALID_ARGUMENT`; with the first request `DRIVER_MISSING`.
 * @example
 * import { ApiKeys, authenticator, createServer } from "stemma/server";
 *
 * const server = createServer(store, { authenticate: authenticator({ keys: new ApiKeys(store) }) });
 * export default { fetch: server };
 */
export function createServer(store: Store, options: ServerOptions): (request: Request) => Promise<Response> {
  assertStore(store, "createServer()");
  SERVER.assert(options, "createServer()");
  const load = once(async () => {
    const studio = options.studio ? import("./studio.js") : undefined;
    await assertZod();
    // What guards a store does not load what serves it.
    return (await import("./app.js")).createApp(store, options, await studio);
  });
  return async (request) => (await load())(request);
}

/** Throws `DRIVER_MISSING` where `zod` is not installed: whoever serves a store needs it. */
export async function assertZod(): Promise<void> {
  try {
    await import("zod");
  } catch (cause) {
    throw new StemmaError("DRIVER_MISSING", { package: "zod" }, "To serve a store, run: npm install zod@4", { cause });
  }
}
