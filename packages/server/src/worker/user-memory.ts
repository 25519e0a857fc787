import { check, defineOptions, once } from "@stemma/model";
import { type RetainOptions, SessionManager } from "@stemma/session";
import { assertStore, type Store } from "@stemma/store";
import { durableObject } from "@stemma/store/durable-object";
import { createApp } from "../http/app.js";
import { SERVER, type ServerOptions } from "../http/server-options.js";
import type { UserMemoryContext } from "./cloudflare.js";
import { passedPrincipal } from "./passed-principal.js";
import { Upkeep } from "./upkeep.js";

/** How an object answers for its user. */
export interface UserMemoryOptions
  extends Pick<ServerOptions, "sessions" | "handlers" | "limits" | "quotas" | "maxBodyBytes" | "onError"> {
  /** Where the memory is. Default: `durableObject(ctx)`. */
  readonly store?: Store | undefined;
  /**
   * Which data the object removes once a week, as options of `SessionManager.retain`; `{}` for what has expired. Then it checks its
   * database. `GET /upkeep` tells what came of it. The class must have `alarm()`. Default: it removes nothing.
   */
  readonly retention?: RetainOptions | undefined;
}

const USER_MEMORY = defineOptions<UserMemoryOptions>({
  sessions: SERVER.checks.sessions,
  handlers: SERVER.checks.handlers,
  limits: SERVER.checks.limits,
  quotas: SERVER.checks.quotas,
  maxBodyBytes: SERVER.checks.maxBodyBytes,
  onError: SERVER.checks.onError,
  store: (store) => assertStore(store, "The store of userMemory()"),
  retention: check.rule("options of retain()", (value) => typeof value === "object" && value !== null),
});

/** The work of a Durable Object for its user. */
export interface UserMemory {
  /** Answers a request that `createWorker` let in. */
  fetch(request: Request): Promise<Response>;
  /** Does the upkeep that `retention` asks for. */
  alarm(): Promise<void>;
}

/**
 * The memory of one user in a Durable Object, with the REST routes of `createServer`. The object believes `createWorker` whom a request is
 * from: only code that has the binding reaches it. Pass it no request of a client by other ways. Errors: `INVALID_ARGUMENT`;
 * `STORE_UNSUPPORTED` for an object that is not backed by SQLite.
 * @example
 * // export class UserMemory extends DurableObject
 * import { userMemory, type UserMemoryContext } from "stemma/worker";
 *
 * class UserMemory {
 *   readonly #memory;
 *   constructor(ctx: UserMemoryContext) {
 *     this.#memory = userMemory(ctx, { retention: { olderThan: 90 * 86_400_000 } });
 *   }
 *   fetch(request: Request): Promise<Response> {
 *     return this.#memory.fetch(request);
 *   }
 *   alarm(): Promise<void> {
 *     return this.#memory.alarm();
 *   }
 * }
 */
export function userMemory(ctx: UserMemoryContext, options: UserMemoryOptions = {}): UserMemory {
  USER_MEMORY.assert(options, "userMemory()");
  const { store = durableObject(ctx), retention, handlers, ...rest } = options;
  const upkeep =
    retention === undefined ? null : new Upkeep(ctx.storage, store, SessionManager.create(store), retention);
  const own = upkeep === null ? {} : { "/upkeep": async () => Response.json(await upkeep.last()) };
  // An object is woken for its alarm, too.
  const app = once(async () =>
    createApp(store, { ...rest, handlers: { ...handlers, ...own }, authenticate: passedPrincipal }),
  );
  return {
    async fetch(request) {
      if (request.method !== "GET") await upkeep?.plan();
      return (await app())(request);
    },
    async alarm() {
      await upkeep?.run((error) => options.onError?.(error, "alarm"));
    },
  };
}
