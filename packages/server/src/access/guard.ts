import { check, defineOptions, StemmaError, shorten, withParts } from "@stemma/model";
import {
  assertEntryArguments,
  consolidate,
  type MethodRow,
  type OnceOperation,
  PART_METHODS,
  type PartMethods,
  type RememberedVersion,
  SESSION_METHODS,
  type SessionStore,
  STORE_METHODS,
  type Store,
  valuesIn,
} from "@stemma/store";
import { copyOf, namesOf, withoutUpgraded } from "./arguments.js";
import { OwnSessions } from "./own-sessions.js";
import { assertPrincipal, isConfined, isWhole, type Principal } from "./principal.js";
import { PROJECT_RULES } from "./project-rules.js";
import { Reach } from "./reach.js";
import { forbidden, notThere } from "./refusals.js";

type Method = (...values: unknown[]) => unknown;

/** One call of the contract. */
interface Call {
  /** Such as `blocks.set`. */
  readonly name: string;
  readonly row: MethodRow;
  /** The session that it is a call of; null for any other. */
  readonly sessionId: string | null;
  make(values: readonly unknown[]): unknown;
}

/** Lists of a scope, of which one who reaches a part of it is shown that part. */
const LISTS: ReadonlySet<string> = new Set(["blocks.list", "entries.labels", "entries.removed"]);

const ENTRIES = "entries.";

/** The store's own methods that are done once. */
const STORE_WRITES = Object.fromEntries(Object.entries<MethodRow>(STORE_METHODS).filter(([, { isOnce }]) => isOnce));

const METHOD = Symbol("method");

/** Asks for each method of a session when it is called: there are forty. */
const SESSION_OF_CALL = {};
for (const name of Object.keys(SESSION_METHODS)) {
  const get = function (this: { [METHOD](name: string): unknown }) {
    return this[METHOD](name);
  };
  Object.defineProperty(SESSION_OF_CALL, name, { get, enumerable: true });
}

const OF_NO_TENANT = "Each tenant of this server has a store, and this key is of no tenant.";
const OF_ANOTHER_TENANT = "This key is of a tenant whose store is not here.";

/** Ids of sessions that are told of one call. */
const MOST_TOLD = 20;

/** One call through a guard, as an audit log has it: no text of a message, a block, an entry or a query. */
export interface GuardedCall {
  /** ISO time. */
  readonly at: string;
  /** The id of the principal. */
  readonly principal: string;
  /** Such as "blocks.set". */
  readonly call: string;
  readonly mode: "read" | "write" | "admin";
  /** The ids of the sessions that it names, and the user that it is made for. */
  readonly sessions: readonly string[];
  readonly userId?: string | undefined;
  /** The tenant whose data or keys it concerns. */
  readonly tenant?: string | undefined;
  /** The code of what it failed with; null where it was done. */
  readonly code: string | null;
}

export interface GuardOptions {
  /** Hears of each call once it is over, refused ones too. What it throws is passed over. */
  readonly onCall?: ((call: GuardedCall) => void) | undefined;
  /** The tenant whose store it is: each call of a principal of another one, or of none, is refused. Default: no tenant's. */
  readonly tenant?: string | undefined;
}

const GUARD = defineOptions<GuardOptions>({ onCall: check.callable, tenant: check.text });

/**
 * Gives a store that does what a principal may do. It refuses everything else with `FORBIDDEN`; a session that is not theirs is
 * not there (`SESSION_NOT_FOUND`), also where nobody owns it. Whoever serves strangers gives them this store and no other:
 * `forUser` alone is no boundary. Nobody closes the database through it. Errors: `FORBIDDEN` for a principal that may only make
 * tokens; `INVALID_ARGUMENT`.
 */
export function guard(store: Store, principal: Principal, options: GuardOptions = {}): Store {
  assertPrincipal(principal);
  GUARD.assert(options, "guard()");
  if (principal.access === "mint") throw forbidden("This key makes tokens for users, and reads and writes nothing.");
  const { userId } = principal;
  return new Guard(store, userId === undefined ? store : store.forUser(userId), principal, options).store;
}

/** The id in the store of a principal's operation: of one id, each principal has one. */
export function operationOf(principal: Principal, id: string): string {
  return `${principal.id}\0${id}`;
}

class Guard {
  readonly store: Store;
  readonly #reach: Reach;
  readonly #isConfined: boolean;
  readonly #own: OwnSessions;

  constructor(
    private readonly whole: Store,
    private readonly inner: Store,
    private readonly principal: Principal,
    private readonly options: GuardOptions,
    above?: Store,
  ) {
    this.#reach = new Reach(principal);
    this.#isConfined = isConfined(principal);
    this.#own = new OwnSessions(whole, inner, principal);
    this.store = this.#wrapped(above);
  }

  get #isAdmin(): boolean {
    return this.principal.access === "admin" && !this.#isConfined;
  }

  #wrapped(above: Store | undefined): Store {
    const { inner } = this;
    const { name, userId, capabilities, order, observer, redaction } = inner;
    const whole: Omit<Store, keyof PartMethods> = {
      ...this.#part("store.", inner as Omit<Store, keyof PartMethods>, STORE_METHODS),
      name,
      userId,
      capabilities: { ...capabilities, embeddings: false, check: capabilities.check && this.#isAdmin },
      order,
      observer,
      redaction,
      whole: above,
      session: (id) => this.#session(inner, id),
      // It is made of calls of the store that it is a method of: this one.
      consolidate,
      forUser: (user) => (userId === user ? this.store : this.#forUser(inner, user)),
      ...(inner.once !== undefined && { once: (operation: OnceOperation) => this.#once(operation) }),
    };
    return this.#withParts(whole, inner);
  }

  #session(inner: Store, id: string): SessionStore {
    return Object.assign(this.#part("session.", inner.session(id), SESSION_METHODS, id), { id });
  }

  // Made when they are asked for: a store that does one call once is made for that call.
  #withParts<Whole extends object>(whole: Whole, inner: Store): Whole & Pick<Store, keyof PartMethods> {
    const part = <Name extends keyof PartMethods>(name: Name) =>
      this.#part(`${name}.`, inner[name] as NonNullable<Store[Name]>, PART_METHODS[name]);
    return withParts<Whole, Pick<Store, keyof PartMethods>>(whole, {
      sessions: () => part("sessions"),
      blocks: () => part("blocks"),
      entries: () => part("entries"),
      records: () => part("records"),
      vectors: () => (inner.vectors === undefined ? undefined : part("vectors")),
    });
  }

  // Who reaches everybody acts for a user as a program with the store does.
  #forUser(inner: Store, userId: string): Store {
    const principal: Principal = this.#isConfined ? { ...this.principal, userId } : this.principal;
    return new Guard(this.whole, inner.forUser(userId), principal, this.options, this.store).store;
  }

  // A store with one of its own for what writes, and nothing else: it is made for each write of a request.
  #once({ id, together, ...operation }: OnceOperation): Store {
    const own = {
      ...operation,
      id: operationOf(this.principal, id),
      ...(together !== undefined && { together: { ...together, id: operationOf(this.principal, together.id) } }),
    };
    const inner = this.inner.once?.(own) ?? this.inner;
    const once: Store = Object.create(this.store);
    Object.assign(once, this.#part("store.", inner as Omit<Store, keyof PartMethods>, STORE_WRITES), {
      session: (sessionId: string) => this.#sessionOfCall(inner.session(sessionId), sessionId),
      forUser: (userId: string) => (inner.userId === userId ? once : this.#forUser(inner, userId)),
    });
    return this.#withParts(once, inner);
  }

  #part<P extends object>(
    prefix: string,
    part: P,
    rows: Readonly<Record<string, MethodRow>>,
    sessionId: string | null = null,
  ): P {
    const wrapped: Record<string, Method> = {};
    for (const name in rows) {
      const method = this.#method(prefix + name, part, name, rows[name] as MethodRow, sessionId);
      if (method !== undefined) wrapped[name] = method;
    }
    return wrapped as P;
  }

  /** A session of which one call is made: a method is there when it is asked for. */
  #sessionOfCall(session: SessionStore, id: string): SessionStore {
    const made = Object.create(SESSION_OF_CALL);
    made.id = id;
    made[METHOD] = (name: keyof typeof SESSION_METHODS) =>
      this.#method(`session.${name}`, session, name, SESSION_METHODS[name], id);
    return made;
  }

  #method(fullName: string, part: object, name: string, row: MethodRow, sessionId: string | null): Method | undefined {
    const method = (part as Record<string, unknown>)[name] as Method | undefined;
    if (typeof method !== "function") return undefined;
    return (...given) => {
      const make: Call["make"] = (values) => method.apply(part, [...values]);
      const call: Call = { name: fullName, row, sessionId, make };
      return row.isStream ? this.#stream(call, given) : this.#tellingOf(call, given, (copy) => this.#call(call, copy));
    };
  }

  async #call(call: Call, given: unknown[]): Promise<unknown> {
    const { values, sessions } = this.#admit(call, given);
    try {
      const result = await this.#made(call, values, sessions);
      if (call.name === "sessions.delete") this.#own.forget(sessions);
      return this.#shown(call, values, result);
    } catch (error) {
      const failure = this.#hidden(error);
      if (call.name === "sessions.get" && StemmaError.isInstance(failure, "SESSION_NOT_FOUND")) return null;
      throw failure;
    }
  }

  // Reading begins with the call.
  #stream(call: Call, given: unknown[]): AsyncIterable<unknown> {
    const open = async (copy: unknown[]) => {
      const { values, sessions } = this.#admit(call, copy);
      return this.#made(call, values, sessions) as Promise<AsyncIterable<unknown>> | AsyncIterable<unknown>;
    };
    const hidden = (error: unknown) => Promise.reject(this.#hidden(error));
    return valuesIn(this.#tellingOf(call, given, open).then((values) => withErrors(values, hidden), hidden));
  }

  /**
   * Makes a call with arguments as they are now, read once: what is checked is what is done, and told. Only an administrator's are
   * taken as they are.
   */
  #tellingOf<T>(call: Call, given: unknown[], make: (values: unknown[]) => Promise<T>): Promise<T> {
    let values: unknown[];
    try {
      values = this.#isAdmin ? given : copyOf(given);
    } catch (error) {
      return Promise.reject(error);
    }
    const { onCall } = this.options;
    const summary = onCall === undefined ? null : this.#summaryOf(call, values);
    const made = make(values);
    if (onCall === undefined || summary === null) return made;
    const tell = (code: string | null) => {
      try {
        onCall({ ...summary, at: new Date().toISOString(), code });
      } catch {
        // The call is done, whatever becomes of the note.
      }
    };
    made.then(
      () => tell(null),
      (error) => tell(StemmaError.isInstance(error) ? error.code : "INTERNAL"),
    );
    return made;
  }

  #summaryOf({ name, row, sessionId }: Call, values: readonly unknown[]): Omit<GuardedCall, "at" | "code"> {
    const all = sessionId === null ? [] : [sessionId];
    try {
      for (const each of row.names(values)) {
        all.push("session" in each ? each.session : "records" in each ? each.records : each.memory.sessionId);
      }
    } catch {
      // What cannot be read is refused, and told without its ids.
    }
    const ids = [...new Set(all.map(String))].filter((id) => id !== "").slice(0, MOST_TOLD);
    const { userId } = this.inner;
    const { tenant } = this.principal;
    const sessions = ids.map((id) => shorten(id));
    return {
      principal: this.principal.id,
      call: name,
      mode: row.mode,
      sessions,
      ...(userId !== undefined && { userId }),
      ...(tenant !== undefined && { tenant }),
    };
  }

  /** Makes sure that what the arguments name is in reach. They are narrowed to a project where there is one. */
  #admit({ name, row, sessionId }: Call, given: unknown[]): { values: unknown[]; sessions: readonly string[] } {
    const { project, readOnly = false, tenant } = this.principal;
    if (tenant !== this.options.tenant) throw forbidden(tenant === undefined ? OF_NO_TENANT : OF_ANOTHER_TENANT);
    if (name === "store.close") throw forbidden("Nobody closes the store through a guard.");
    if (row.mode === "admin" && !this.#isAdmin) throw forbidden(`${name} is for administrators.`);
    if (row.mode !== "read" && readOnly) throw forbidden("This key only reads.");
    if (name.startsWith(ENTRIES)) assertEntryArguments(name.slice(ENTRIES.length) as keyof Store["entries"], given);
    const named = namesOf(row, given);
    const all = sessionId === null ? named : [{ session: sessionId }, ...named];
    const sessions = this.#reach.assert(all, LISTS.has(name));
    const values = this.#isConfined ? withoutUpgraded(name, given) : given;
    if (project === undefined) return { values, sessions };
    const rule = PROJECT_RULES[name];
    if (rule === undefined && all.length === 0)
      throw forbidden(`${name} over all sessions is not for a key of one project.`);
    return { values: rule?.(values, project) ?? values, sessions };
  }

  // At once where it can be: calls of one turn keep their order.
  #made({ name, row, make }: Call, values: readonly unknown[], sessions: readonly string[]): unknown {
    if (!this.#isConfined || this.#own.areKnown(sessions)) return make(values);
    // A call of the registry makes its session itself, or needs one that is there.
    const makesSession = row.mode === "write" && !name.startsWith("sessions.");
    return this.#own.afterOthers(sessions, makesSession, () => make(values));
  }

  // Of what is listed, the part that they reach.
  #shown({ name, row }: Call, values: readonly unknown[], result: unknown): unknown {
    const { project, userId } = this.principal;
    if (isWhole(this.principal)) return result;
    if (name === "session.writes") {
      return (result as readonly RememberedVersion[]).filter(({ owner, label }) => this.#reach.reaches(owner, label));
    }
    if (name === "blocks.owners") {
      if (values[0] === "key") return (result as readonly string[]).filter((key) => this.#reach.reaches({ key }, ""));
      return project !== undefined && userId === undefined ? [] : result;
    }
    const isOfUser = namesOf(row, values).some((named) => "memory" in named && named.memory.scope === "user");
    if (!isOfUser || !LISTS.has(name) || userId === undefined) return result;
    const listed = result as readonly { readonly label: string }[];
    return listed.filter(({ label }) => this.#reach.reaches({ user: userId }, label));
  }

  // Whose a session is would tell that it is there.
  #hidden(error: unknown): unknown {
    if (!this.#isConfined || !StemmaError.isInstance(error, "SESSION_OWNED")) return error;
    return notThere(String(error.details.sessionId ?? ""));
  }
}

async function* withErrors<T>(values: AsyncIterable<T>, failed: (error: unknown) => Promise<never>): AsyncGenerator<T> {
  try {
    yield* values;
  } catch (error) {
    await failed(error);
  }
}
