import { check, defineOptions, invalid, Recent, StemmaError, shorten } from "@stemma/model";
import {
  consolidate,
  type MethodRow,
  type Named,
  PART_METHODS,
  type PartMethods,
  type RememberedVersion,
  SESSION_METHODS,
  type SessionInfo,
  STORE_METHODS,
  type Store,
  valuesIn,
} from "@stemma/store";
import { assertPrincipal, isConfined, isWhole, type Principal } from "./principal.js";
import { PROJECT_RULES } from "./project-rules.js";
import { Reach, SERVER_RECORDS } from "./reach.js";
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

/** Sessions that are known to be the principal's, of one guard. */
const KNOWN_SESSIONS = 1_000;

/** Milliseconds after which it is asked again whose a session is: it may have been deleted and made anew by others. */
const KNOWN_FOR = 1_000;

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
  /** The code of what it failed with; null where it was done. */
  readonly code: string | null;
}

export interface GuardOptions {
  /** Hears of each call once it is over, refused ones too. What it throws is passed over. */
  readonly onCall?: ((call: GuardedCall) => void) | undefined;
}

const GUARD = defineOptions<GuardOptions>({ onCall: check.callable });

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

class Guard {
  readonly store: Store;
  readonly #reach: Reach;
  readonly #isConfined: boolean;
  /** When each was found to be theirs, in milliseconds. */
  readonly #known = new Recent<number>(KNOWN_SESSIONS);
  /** Calls that wait until it is known whose their sessions are, one after the other: they are made in their order. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly whole: Store,
    private readonly inner: Store,
    private readonly principal: Principal,
    private readonly options: GuardOptions,
    above?: Store,
  ) {
    this.#reach = new Reach(principal);
    this.#isConfined = isConfined(principal);
    this.store = this.#wrapped(above);
  }

  get #isAdmin(): boolean {
    return this.principal.access === "admin" && !this.#isConfined;
  }

  #wrapped(above: Store | undefined): Store {
    const { inner } = this;
    const { name, userId, capabilities, order, observer, redaction } = inner;
    const parts = Object.entries(PART_METHODS).flatMap(([part, rows]) => {
      const methods = inner[part as keyof PartMethods];
      return methods === undefined ? [] : [[part, this.#part(`${part}.`, methods, rows)] as const];
    });
    return {
      ...this.#part("store.", inner, STORE_METHODS),
      ...(Object.fromEntries(parts) as unknown as Pick<Store, keyof PartMethods>),
      name,
      userId,
      capabilities: { ...capabilities, embeddings: false, check: capabilities.check && this.#isAdmin },
      order,
      observer,
      redaction,
      whole: above,
      session: (id) => ({ ...this.#part("session.", inner.session(id), SESSION_METHODS, id), id }),
      // It is made of calls of the store that it is a method of: this one.
      consolidate,
      forUser: (user) => this.#forUser(user),
    };
  }

  // Who reaches everybody acts for a user as a program with the store does.
  #forUser(userId: string): Store {
    if (this.inner.userId === userId) return this.store;
    const inner = this.inner.forUser(userId);
    const principal: Principal = this.#isConfined ? { ...this.principal, userId } : this.principal;
    return new Guard(this.whole, inner, principal, this.options, this.store).store;
  }

  #part<P extends object>(
    prefix: string,
    part: P,
    rows: Readonly<Record<string, MethodRow>>,
    sessionId: string | null = null,
  ): P {
    const wrapped: Record<string, Method> = {};
    for (const [name, row] of Object.entries(rows)) {
      const method = (part as Record<string, unknown>)[name] as Method | undefined;
      if (typeof method !== "function") continue;
      const make: Call["make"] = (values) => method.apply(part, [...values]);
      const call: Call = { name: prefix + name, row, sessionId, make };
      wrapped[name] = row.isStream
        ? (...values) => this.#stream(call, values)
        : (...values) => this.#tellingOf(call, values, (copy) => this.#call(call, copy));
    }
    return wrapped as P;
  }

  async #call(call: Call, given: unknown[]): Promise<unknown> {
    const { values, sessions } = this.#admit(call, given);
    if (call.name === "sessions.delete" && sessions.length === 0) await this.#assertNoneOfTheServer();
    try {
      const made = this.#mustWait(sessions) ? this.#afterOthers(call, values, sessions) : call.make(values);
      const result = await made;
      if (call.name === "sessions.delete") for (const id of sessions) this.#known.delete(id);
      return this.#shown(call, values, result);
    } catch (error) {
      const failure = this.#hidden(error);
      if (call.name === "sessions.get" && StemmaError.isInstance(failure, "SESSION_NOT_FOUND")) return null;
      throw failure;
    }
  }

  // With the session without an id go all records of none. Errors: `FORBIDDEN` where the server's are among them.
  async #assertNoneOfTheServer(): Promise<void> {
    const labels = await this.whole.records.labels("");
    if (labels.some((label) => label.startsWith(SERVER_RECORDS))) {
      throw forbidden("With the session without an id, the keys of the server would go.");
    }
  }

  // Reading begins with the call.
  #stream(call: Call, given: unknown[]): AsyncIterable<unknown> {
    const open = async (copy: unknown[]) => {
      const { values, sessions } = this.#admit(call, copy);
      const made = this.#mustWait(sessions) ? this.#afterOthers(call, values, sessions) : call.make(values);
      return made as AsyncIterable<unknown>;
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
      } catch {}
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
    const sessions = ids.map((id) => shorten(id));
    return {
      principal: this.principal.id,
      call: name,
      mode: row.mode,
      sessions,
      ...(userId !== undefined && { userId }),
    };
  }

  /** Makes sure that what the arguments name is in reach. They are narrowed to a project where there is one. */
  #admit({ name, row, sessionId }: Call, given: unknown[]): { values: unknown[]; sessions: readonly string[] } {
    const { project, readOnly = false } = this.principal;
    if (name === "store.close") throw forbidden("Nobody closes the store through a guard.");
    if (row.mode === "admin" && !this.#isAdmin) throw forbidden(`${name} is for administrators.`);
    if (row.mode !== "read" && readOnly) throw forbidden("This key only reads.");
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

  #mustWait(sessions: readonly string[]): boolean {
    return this.#isConfined && (this.#waiting > 0 || sessions.some((id) => !this.#isKnown(id)));
  }

  #isKnown(id: string): boolean {
    const found = this.#known.get(id);
    const age = Date.now() - (found ?? 0);
    return found !== undefined && age >= 0 && age < KNOWN_FOR;
  }

  // `[result]`, since a promise would be waited for.
  async #afterOthers(
    { name, row, make }: Call,
    values: readonly unknown[],
    sessions: readonly string[],
  ): Promise<unknown> {
    this.#waiting += 1;
    const made = this.#last.then(async () => {
      // A call of the registry makes its session itself, or needs one that is there.
      const makesSession = row.mode === "write" && !name.startsWith("sessions.");
      for (const id of sessions) await this.#assertOwn(id, makesSession);
      return [make(values)] as const;
    });
    this.#last = made
      .catch(() => {})
      .finally(() => {
        this.#waiting -= 1;
      });
    const [result] = await made;
    return result;
  }

  /**
   * A session that nobody has written yet becomes theirs with the first write. Whether it is theirs is asked before, and not in the
   * transaction: who gets between only gains what registering the id first would have given. Errors: `SESSION_NOT_FOUND`.
   */
  async #assertOwn(id: string, makesSession: boolean): Promise<void> {
    if (this.#isKnown(id)) return;
    const { userId, project } = this.principal;
    let info = await this.whole.sessions.get(id);
    if (info === null && project !== undefined && makesSession && !(await this.#holds(id))) {
      info = await this.inner.sessions.create({ id, name: id, metadata: { project } });
    }
    if (info === null) {
      if (await this.#holds(id)) throw notThere(id);
      return;
    }
    if (!isOwn(info, userId, project)) throw notThere(id);
    this.#known.set(id, Date.now());
  }

  // A program that reaches everything may keep records and memory under an id that it has not registered.
  async #holds(id: string): Promise<boolean> {
    const { blocks, entries, records } = this.whole;
    const scope = { sessionId: id };
    const found = await Promise.all([records.labels(id), blocks.list(scope), entries.labels(scope)]);
    return found.some(({ length }) => length > 0);
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

/** Errors: `INVALID_ARGUMENT` for what are no arguments of the method. */
function namesOf(row: MethodRow, values: readonly unknown[]): readonly Named[] {
  try {
    return row.names(values);
  } catch (error) {
    throw invalid("These are no arguments of this call.", {}, { cause: error });
  }
}

function isOwn(info: SessionInfo, userId: string | undefined, project: string | undefined): boolean {
  return (
    (userId === undefined || info.user_id === userId) && (project === undefined || info.metadata.project === project)
  );
}

// What `agents` stored under a label lies beside that of all other sessions. No label has a line break.
function withoutUpgraded(name: string, values: readonly unknown[]): unknown[] {
  const key = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? { ...value, upgradedLabel: "\n" } : value;
  const [first, ...rest] = values;
  if (name === "blocks.getMany") return [(first as readonly unknown[]).map(key), ...rest];
  if (name.startsWith("blocks.") && !["blocks.list", "blocks.owners"].includes(name)) return [key(first), ...rest];
  if (name !== "store.writeTogether") return [...values];
  const write = (each: object) => ("block" in each ? { ...each, block: key(each.block) } : each);
  return [(first as readonly object[]).map(write), ...rest];
}

/** Arguments as they were when the call was made. Errors: `INVALID_ARGUMENT` for what cannot be copied. */
function copyOf(values: readonly unknown[]): unknown[] {
  // The signal of a search is for this process, and is no data.
  const signals = values.map((value) => (isObject(value) ? value.signal : undefined));
  try {
    const copies = structuredClone(
      values.map((value, at) => (signals[at] === undefined ? value : withoutSignal(value))),
    );
    return copies.map((copy, at) =>
      signals[at] instanceof AbortSignal ? { ...(copy as object), signal: signals[at] } : copy,
    );
  } catch (error) {
    throw invalid("An argument of this call cannot be copied.", {}, { cause: error });
  }
}

const isObject = (value: unknown): value is { readonly signal?: unknown } =>
  typeof value === "object" && value !== null;

function withoutSignal(value: unknown): unknown {
  const { signal: _, ...rest } = value as { readonly signal?: unknown };
  return rest;
}
