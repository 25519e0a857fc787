import type { OpenAPIHono } from "@hono/zod-openapi";
import { once, Recent, StemmaError } from "@stemma/model";
import { SessionManager } from "@stemma/session";
import { fingerprintOf, type OnceCall, type Store } from "@stemma/store";
import type { Context } from "hono";
import { guard, operationOf } from "../access/guard.js";
import type { Principal } from "../access/principal.js";
import type { QuotaCost } from "../quotas/quotas.js";
import type { ServerContext, ServerOptions } from "./server-options.js";

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
    /** Counts what the request costs beside itself, if it was not done before. Errors: `QUOTA_EXCEEDED`; those of `isAgain`. */
    spend: (cost: QuotaCost, isAgain?: () => Promise<boolean>) => Promise<void>;
  };
}

export type ServerApp = OpenAPIHono<ServerEnv>;
export type ServerCall = Context<ServerEnv>;

type Reached = Pick<ServerContext, "store" | "sessions">;

interface ReachedOnce extends Reached {
  /** Tells whether a write of the request was done before. Errors: `OPERATION_CONFLICT` for a key that another request had. */
  isAgain(): Promise<boolean>;
}

/** Where each tenant has a store, that of nobody: no principal is of it. */
const NO_TENANT = "";

/** Principals whose guards stay in memory. */
const REMEMBERED = 1_000;

/** The guarded store of each principal, and its manager: one for all of their requests, so that these share what runs. */
export class Contexts {
  readonly #known = new Recent<Reached>(REMEMBERED);

  constructor(private readonly options: ServerOptions) {}

  /** On the store of the principal's tenant, where there are tenants. Errors: those of `guard`. */
  of(principal: Principal, whole: Store): Reached {
    const key = JSON.stringify(Object.entries(principal).sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = this.#known.get(key) ?? this.#made(principal, whole);
    this.#known.set(key, known);
    return known;
  }

  #made(principal: Principal, whole: Store): Reached {
    const { audit, tenants } = this.options;
    const tenant = tenants === undefined ? undefined : (principal.tenant ?? NO_TENANT);
    return this.#reached(guard(whole, principal, { onCall: audit?.note, tenant }));
  }

  #reached(store: Store): Reached {
    const { sessions = (each: SessionManager) => each } = this.options;
    return { store, sessions: sessions(SessionManager.create(store)) };
  }

  /** For a request that may come again: what it writes is written once. Errors: `STORE_UNSUPPORTED`; of its writes, as `isAgain`. */
  once(principal: Principal, whole: Store, key: string, fingerprint: string): ReachedOnce {
    const { store } = this.of(principal, whole);
    const made = store.once?.({ id: key, fingerprint });
    if (made === undefined) {
      throw new StemmaError("STORE_UNSUPPORTED", {}, "This store has no transactions: leave Idempotency-Key out.");
    }
    const isAgain = once(async () => {
      const done = await fingerprintOf(whole, operationOf(principal, key));
      if (done === null || done === fingerprint) return done !== null;
      throw new StemmaError("OPERATION_CONFLICT", {}, "Another request had this Idempotency-Key: make one for each.");
    });
    return { ...this.#reached(made), isAgain };
  }
}
