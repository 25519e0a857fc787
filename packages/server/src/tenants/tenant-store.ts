import { once, perObject, withParts } from "@stemma/model";
import {
  consolidate,
  type MethodRow,
  type OnceOperation,
  PART_METHODS,
  type PartMethods,
  SESSION_METHODS,
  STORE_METHODS,
  type Store,
} from "@stemma/store";

type Method = (...values: unknown[]) => unknown;
type Rows = Readonly<Record<string, MethodRow>>;

/** A store that stays open until `release` is called, once. */
export interface Held {
  readonly store: Store;
  readonly release: () => void;
}

/** How a tenant's store is held. */
interface Holding {
  /** Null where it is not open. */
  now(): Held | null;
  later(): Promise<Held>;
}

/** Begins work on a tenant's store: at once where it is open, and never before what waits until it is. */
type Begin = <T>(work: (held: Held) => T) => T | Promise<T>;

/**
 * A store that is open while it is used: each call holds it, and opens it where it was closed meanwhile. So work that goes on behind
 * an answer, or a connection that is kept, never meets a closed store. `like` is the store as it is open now. Closing it closes
 * nothing.
 */
export function tenantStore(holding: Holding, like: Store): Store {
  let waiting = 0;
  const begin: Begin = (work) => {
    const held = waiting === 0 ? holding.now() : null;
    if (held !== null) return work(held);
    waiting += 1;
    const begun = async (late: Promise<Held>) => {
      let given: Held;
      try {
        given = await late;
      } finally {
        waiting -= 1;
      }
      return await work(given);
    };
    return begun(holding.later());
  };
  return viewOf(begin, (store) => store, like);
}

/** `of` gives the part of an open store that this one stands for, such as a user's. */
function viewOf(begin: Begin, of: (store: Store) => Store, like: Store, above?: Store): Store {
  const methods = <P extends object>(rows: Rows, partOf: (store: Store) => P, part: P): P => {
    const own = Object.entries(rows).flatMap(([name, { isStream }]) => {
      if (typeof (part as Record<string, unknown>)[name] !== "function") return [];
      const make = (store: Store, values: unknown[]) => {
        const target = partOf(of(store));
        return (target as Record<string, Method>)[name]?.apply(target, values);
      };
      const call = isStream
        ? (...values: unknown[]) => heldValues(begin, (store) => make(store, values) as AsyncIterable<unknown>)
        : (...values: unknown[]) => begin((held) => released(held, (store) => make(store, values)));
      return [[name, call] as const];
    });
    return Object.fromEntries(own) as P;
  };
  const { name, userId, capabilities, order, observer, redaction } = like;
  const whole: Omit<Store, keyof PartMethods> = {
    ...methods<Omit<Store, keyof PartMethods>>(STORE_METHODS, (store) => store, like),
    name,
    userId,
    // Nobody embeds, or puts a reranker, behind the server.
    capabilities: { ...capabilities, embeddings: false },
    order,
    observer,
    redaction,
    whole: above,
    consolidate,
    session: (id) => {
      const own = like.session(id);
      const session = perObject((store: Store) => store.session(id));
      return { ...methods(SESSION_METHODS, session, own), id: own.id };
    },
    forUser: (user) => {
      if (user === userId) return made;
      const own = like.forUser(user);
      return viewOf(
        begin,
        perObject((store) => of(store).forUser(user)),
        own,
        above ?? made,
      );
    },
    ...(like.once !== undefined && { once: (operation: OnceOperation) => onceOf(operation) }),
    close: async () => {},
  };
  // It counts its calls, so there is one for all of them.
  const onceOf = (operation: OnceOperation) =>
    viewOf(
      begin,
      perObject((store) => of(store).once?.(operation) as Store),
      like,
      above,
    );
  const part = <Name extends keyof PartMethods>(family: Name) =>
    methods(PART_METHODS[family], (store) => store[family] as object, like[family] as object) as NonNullable<
      Store[Name]
    >;
  const made: Store = withParts<typeof whole, Pick<Store, keyof PartMethods>>(whole, {
    sessions: () => part("sessions"),
    blocks: () => part("blocks"),
    entries: () => part("entries"),
    records: () => part("records"),
    vectors: () => (like.vectors === undefined ? undefined : part("vectors")),
  });
  return made;
}

async function released<T>({ store, release }: Held, work: (store: Store) => T): Promise<Awaited<T>> {
  try {
    return await work(store);
  } finally {
    release();
  }
}

/** Values of a held store, which is released at their end. Reading begins with the call. */
function heldValues(begin: Begin, open: (store: Store) => AsyncIterable<unknown>): AsyncIterable<unknown> {
  const opened = ({ store, release }: Held) => {
    try {
      return { iterator: open(store)[Symbol.asyncIterator](), release };
    } catch (error) {
      release();
      throw error;
    }
  };
  const begun = Promise.resolve(begin(opened));
  // Whoever iterates is told.
  begun.catch(() => {});
  const ended = once(async () => (await begun).release());
  const step = async (next: (iterator: AsyncIterator<unknown>) => Promise<IteratorResult<unknown>>) => {
    try {
      const result = await next((await begun).iterator);
      if (result.done) await ended();
      return result;
    } catch (error) {
      await ended();
      throw error;
    }
  };
  const over = { done: true, value: undefined } as const;
  const iterator = {
    next: () => step((values) => values.next()),
    return: () => step(async (values) => (await values.return?.()) ?? over),
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
