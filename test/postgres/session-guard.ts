import { AsyncLocalStorage } from "node:async_hooks";
import type pg from "pg";
import type { StoreTarget } from "../../packages/stemma/src/testing.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { SCOPES, UPGRADED_ROWS } from "../../packages/store/src/sql/session-id.js";
import { unnamedTables } from "./session-statements.js";

/** The sessions of the call that is running. Of none: a call for all sessions, or a test's own statement. */
const running = new AsyncLocalStorage<ReadonlySet<string>>();

/** A pool that refuses each statement of a session's call which does not name the session, in every table. */
export function guardPool(pool: pg.Pool): pg.Pool {
  const guard = <T extends object>(client: T): T =>
    new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "connect") return async () => guard((await value.call(target)) as object);
        if (name !== "query") return value.bind(target);
        return (config: pg.QueryConfig) => {
          assertNamed(config.text, config.values ?? []);
          return value.call(target, config);
        };
      },
    });
  return guard(pool);
}

/** How many statements were held to a session. */
export const held = { count: 0 };

export function assertNamed(text: string, values: readonly unknown[], ids = running.getStore()): void {
  if (ids === undefined) return;
  held.count += 1;
  const isOwnId = (id: unknown) =>
    typeof id === "string" && (ids.has(id) || id === UPGRADED_ROWS || id.startsWith(SCOPES));
  const isOwn = (value: string) => {
    // Of ranges that are bound as JSON each names its session.
    if (value === "s.owner") return ownersIn(values).every(isOwnId);
    const bound = /^\$(\d+)/.exec(value);
    if (bound === null) return false;
    return isOwnId(values[Number(bound[1]) - 1]);
  };
  const [unnamed] = unnamedTables(text, isOwn);
  if (unnamed !== undefined)
    throw new Error(`A statement of session ${[...ids]} does not say so of ${unnamed}: ${text}`);
}

function ownersIn(values: readonly unknown[]): unknown[] {
  const ranges = values.filter((value): value is string => typeof value === "string" && value.startsWith("[["));
  return ranges.flatMap((value) => (JSON.parse(value) as unknown[][]).map(([, , , owner]) => owner));
}

/** Opens stores whose calls for a session are held to it; their tables are made before. */
export function guardTarget(target: StoreTarget): StoreTarget {
  const { reopen } = target;
  const guard = async (opened: Store | PromiseLike<Store>): Promise<Store> => {
    const store = await opened;
    await store.migrate();
    return guardStore(store);
  };
  return { ...target, open: () => guard(target.open()), ...(reopen && { reopen: (store) => guard(reopen(store)) }) };
}

/** The same store, whose calls for a session are held to it. */
function guardStore<S extends Store>(store: S): S {
  const { session, forUser } = store;
  const { sessions, blocks, entries, records } = store;
  return Object.assign(store, {
    session: (id: string) => guardMethods(session(id), () => [id]),
    forUser: (user: string) => guardStore(forUser(user)),
    sessions: { ...sessions, ...guardMethods(pick(sessions, OF_ONE), idsOf) },
    blocks: {
      ...blocks,
      ...guardMethods(pick(blocks, ["get", "getMany", "set", "append", "delete", "versions", "list"]), idsOf),
    },
    entries: { ...guardMethods(entries, idsOf) },
    records: { ...guardMethods(records, idsOf) },
  });
}

const OF_ONE = [
  ...["get", "update", "restore", "delete", "prune", "addUsage", "usageRows", "importUsage", "fork", "split"],
  "markLearned",
];

function pick<T extends object>(methods: T, names: readonly string[]): Partial<T> {
  return Object.fromEntries(Object.entries(methods).filter(([name]) => names.includes(name))) as Partial<T>;
}

// What names a session in the arguments of a call: an id, or something that has one.
function idsOf(values: readonly unknown[]): string[] {
  return values.flatMap((value) => {
    if (typeof value === "string") return [value];
    const { id, sessionId } = (value ?? {}) as { id?: unknown; sessionId?: unknown };
    return [id, sessionId].filter((each) => typeof each === "string");
  });
}

function guardMethods<T extends object>(methods: T, ids: (values: readonly unknown[]) => readonly string[]): T {
  const guarded = Object.entries(methods).map(([name, method]) => {
    if (typeof method !== "function") return [name, method];
    const call = (...values: unknown[]) => {
      const own = new Set(ids(values));
      const result = running.run(own, () => method.apply(methods, values));
      return isGenerator(result) ? guardGenerator(result, own) : result;
    };
    return [name, call];
  });
  return { ...methods, ...Object.fromEntries(guarded) };
}

const isGenerator = (value: unknown): value is AsyncGenerator =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

// Each page is read when it is asked for.
function guardGenerator(generator: AsyncGenerator, own: ReadonlySet<string>): AsyncGenerator {
  const { next } = generator;
  return Object.assign(generator, {
    next: () => running.run(own, () => next.call(generator)),
  });
}
