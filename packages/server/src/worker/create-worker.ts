import { OpenAPIHono } from "@hono/zod-openapi";
import { check, defineOptions, perObject, StemmaError } from "@stemma/model";
import { assertPrincipal, type Principal } from "../access/principal.js";
import { forbidden } from "../access/refusals.js";
import { begin, gate } from "../http/entrance.js";
import type { ServerApp, ServerEnv } from "../http/server-app.js";
import { SERVER, type ServerOptions } from "../http/server-options.js";
import { Routes } from "../rest/route.js";
import { withPrincipal } from "./passed-principal.js";
import type { ObjectNamespace } from "./user-memory.js";

/** Whom a Worker lets in, and where the objects of its users are. */
export interface WorkerOptions extends Pick<ServerOptions, "authenticate" | "tokens" | "origins" | "onError"> {
  /** The binding of the objects: `env.MEMORY`. */
  readonly namespace: ObjectNamespace;
}

/** Bytes of a request for a token: the bodies of others go to the objects. */
const MOST_TOKEN_BYTES = 16_384;

const WORKER = defineOptions<WorkerOptions>({
  namespace: check.required(check.having("idFromName", "get")),
  authenticate: SERVER.checks.authenticate,
  tokens: SERVER.checks.tokens,
  origins: SERVER.checks.origins,
  onError: SERVER.checks.onError,
});

/** A Worker, for its `export default`. */
export interface UserWorker<Env> {
  fetch(request: Request, env: Env): Promise<Response>;
}

/**
 * The Worker before the Durable Objects of many users: it lets a request in by `authenticate`, and passes it to the object that is
 * named after the principal's `userId`, where `userMemory` answers it. No path, header or body leads to another object. What
 * concerns all users is refused with `STORE_UNSUPPORTED`, since each has a database of their own. `options` is called once for an
 * `env`. Errors: `INVALID_ARGUMENT`, with the first request.
 * @example
 * import { authenticator, UserTokens } from "stemma/server";
 * import { createWorker, type ObjectNamespace } from "stemma/worker";
 *
 * const worker = createWorker((env: { MEMORY: ObjectNamespace; TOKEN_SECRET: string }) => ({
 *   namespace: env.MEMORY,
 *   authenticate: authenticator({
 *     tokens: new UserTokens(env.TOKEN_SECRET, { audience: "https://memory.example.com" }),
 *   }),
 * }));
 */
export function createWorker<Env extends object>(options: (env: Env) => WorkerOptions): UserWorker<Env> {
  const appOf = perObject((env: Env) => createEntrance(options(env)));
  return { fetch: async (request, env) => appOf(env).fetch(request) };
}

function createEntrance(options: WorkerOptions): ServerApp {
  WORKER.assert(options, "createWorker()");
  const { namespace } = options;
  const app: ServerApp = new OpenAPIHono<ServerEnv>();
  begin(app, options);
  app.get("/healthz", (c) => c.text("ok"));
  gate(app, options, new Routes(app, MOST_TOKEN_BYTES));
  app.all("*", async (c) => {
    const { principal, requestId } = c.var;
    const object = namespace.get(namespace.idFromName(userOf(principal)));
    try {
      return await object.fetch(withPrincipal(c.req.raw, principal, requestId));
    } catch (cause) {
      const { retryable, overloaded } = cause as { readonly retryable?: boolean; readonly overloaded?: boolean };
      if (!retryable && !overloaded) throw cause;
      throw new StemmaError("CONNECTION_LOST", {}, "The user's object ended while it answered.", { cause });
    }
  });
  return app;
}

/** Whose object a principal reaches. Errors: `FORBIDDEN`, `STORE_UNSUPPORTED`; `INVALID_ARGUMENT` for what is no principal. */
function userOf(principal: Principal): string {
  assertPrincipal(principal);
  const { access, userId, keys, tenant, id, countedAs = id, quota } = principal;
  if (access === "mint") throw forbidden("This key makes tokens for users, and reads and writes nothing.");
  if (userId === undefined) {
    const message = "Each user has a database of their own, and none holds all: make a token for the user.";
    throw new StemmaError("STORE_UNSUPPORTED", {}, message);
  }
  if (tenant !== undefined) {
    throw new StemmaError(
      "STORE_UNSUPPORTED",
      {},
      "Each user has a database of their own here, and no tenant has one.",
    );
  }
  if (keys !== undefined && keys.length > 0) {
    throw new StemmaError("STORE_UNSUPPORTED", {}, "No memory is shared by users whose databases are their own.");
  }
  // In each object it would begin anew.
  if (quota !== undefined && countedAs !== id) {
    const message = "A quota that several users share is counted nowhere here: give each user one.";
    throw new StemmaError("STORE_UNSUPPORTED", {}, message);
  }
  return userId;
}
