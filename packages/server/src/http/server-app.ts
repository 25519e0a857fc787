import type { OpenAPIHono } from "@hono/zod-openapi";
import type { OnceCall } from "@stemma/store";
import type { QuotaCost } from "../quotas/quotas.js";
import type { Contexts } from "./contexts.js";
import type { ServerContext } from "./server-options.js";

/** A route's knowledge of its request. */
export interface ServerEnv {
  Variables: ServerContext & {
    failure: unknown;
    /** The store and the sessions of the request, for a request with this `Idempotency-Key`. */
    once: (key: string, fingerprint: string) => ReturnType<Contexts["once"]>;
    /** True for a call of an operation that was done within a day. */
    wasDone: (id: string, call: OnceCall) => Promise<boolean>;
    /** The numbers of those of an operation's writes to a session that were done together within a day. */
    numbersDone: (id: string, sessionId: string, userId: string | undefined) => Promise<ReadonlySet<number>>;
    /** Counts what the request costs beside itself. Errors: `QUOTA_EXCEEDED`. */
    spend: (cost: QuotaCost) => Promise<void>;
  };
}

export type ServerApp = OpenAPIHono<ServerEnv>;
