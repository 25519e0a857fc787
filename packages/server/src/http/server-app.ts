import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Contexts } from "./contexts.js";
import type { ServerContext } from "./server-options.js";

/** A route's knowledge of its request. */
export interface ServerEnv {
  Variables: ServerContext & {
    failure: unknown;
    /** The store and the sessions of the request, for a request with this `Idempotency-Key`. */
    once: (key: string, fingerprint: string) => ReturnType<Contexts["once"]>;
  };
}

export type ServerApp = OpenAPIHono<ServerEnv>;
