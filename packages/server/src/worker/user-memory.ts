import { check, defineOptions, once, StemmaError } from "@stemma/model";
import { type RetainOptions, type RetentionReceipt, SessionManager } from "@stemma/session";
import { assertStore, type CheckProblem, type RecordScope, type Store } from "@stemma/store";
import { type DurableObjectContext, type DurableObjectSqlStorage, durableObject } from "@stemma/store/durable-object";
import { createApp } from "../http/app.js";
import { SERVER, type ServerOptions } from "../http/server-options.js";
import { passedPrincipal } from "./passed-principal.js";

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

/** The part of a binding to Durable Objects that is used. A `DurableObjectNamespace` is one. */
export interface ObjectNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** When an object is to be woken, in milliseconds since 1970. */
export interface ObjectAlarms {
  getAlarm(): Promise<number | null>;
  setAlarm(time: number): Promise<void>;
}

/** The part of a Durable Object's `ctx` that a user's memory needs. A `DurableObjectState` is one. */
export interface UserMemoryContext extends DurableObjectContext {
  readonly storage: DurableObjectSqlStorage & ObjectAlarms;
}

const EVERY = 604_800_000;
const MOST_PROBLEMS = 20;
const LAST: RecordScope = { sessionId: "", label: "stemma:upkeep" };

/** The outcome of the last upkeep. */
export interface UpkeepReport {
  /** ISO time. */
  readonly at: string;
  /** False where the check found damage, and where a `code` says why it did not end. */
  readonly ok: boolean;
  readonly deleted?: RetentionReceipt["deleted"];
  /** The first 20. */
  readonly problems?: readonly CheckProblem[];
  readonly code?: string;
}

/** Once a week, removes what is too old of an object, and checks its database. */
class Upkeep {
  #isPlanned = false;

  constructor(
    private readonly alarms: ObjectAlarms,
    private readonly store: Store,
    private readonly sessions: SessionManager,
    private readonly retention: RetainOptions,
  ) {}

  /** Sets the object's alarm, unless it is set. */
  async plan(): Promise<void> {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    if ((await this.alarms.getAlarm()) === null) await this.alarms.setAlarm(Date.now() + EVERY);
  }

  /** Does it. An object without sessions then sleeps until it is written to. */
  async run(onError?: (error: unknown) => void): Promise<void> {
    const report = await this.#report(onError);
    await this.store.records.set(LAST, "last", new TextEncoder().encode(JSON.stringify(report)));
    const { sessions } = await this.sessions.listPage({ limit: 1 });
    this.#isPlanned = sessions.length > 0;
    if (this.#isPlanned) await this.alarms.setAlarm(Date.now() + EVERY);
  }

  /** The report of the last one; null before the first. */
  async last(): Promise<UpkeepReport | null> {
    const record = await this.store.records.get(LAST, "last");
    return record === null ? null : (JSON.parse(new TextDecoder().decode(record.value)) as UpkeepReport);
  }

  async #report(onError?: (error: unknown) => void): Promise<UpkeepReport> {
    const at = new Date().toISOString();
    try {
      const { deleted } = await this.sessions.retain(this.retention);
      const check = await this.store.check?.();
      return { at, ok: check?.ok === true, deleted, problems: check?.problems.slice(0, MOST_PROBLEMS) ?? [] };
    } catch (error) {
      onError?.(error);
      return { at, ok: false, code: StemmaError.isInstance(error) ? error.code : "INTERNAL" };
    }
  }
}
