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

/** Holds a tenant's store: at once where it is open. */
export type Hold = () => Held | Promise<Held>;

/**
 * A store that is open while it is used: each call holds it, and opens it where it was closed meanwhile. So work that goes on behind
 * an answer, or a connection that is kept, never meets a closed store. `like` is the store as it is open now. Closing it closes
 * nothing.
 */
export function tenantStore(hold: Hold, like: Store): Store {
  return viewOf(hold, (store) => store, like);
}

/** `of` gives the part of an open store that this one stands for, such as a user's. */
function viewOf(hold: Hold, of: (store: Store) => Store, like: Store, above?: Store): Store {
  const methods = <P extends object>(rows: Rows, partOf: (store: Store) => P, part: P): P => {
    const own = Object.entries(rows).flatMap(([name, { isStream }]) => {
      if (typeof (part as Record<string, unknown>)[name] !== "function") return [];
      const make = (store: Store, values: unknown[]) => {
        const target = partOf(of(store));
        return (target as Record<string, Method>)[name]?.apply(target, values);
      };
      const call = isStream
        ? (...values: unknown[]) => heldValues(hold(), (store) => make(store, values) as AsyncIterable<unknown>)
        : (...values: unknown[]) => during(hold(), (store) => make(store, values));
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
        hold,
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
      hold,
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

/** Does work on a held store: at once where it is open, so that calls of one turn keep their order. */
function during<T>(held: Held | Promise<Held>, work: (store: Store) => T): Promise<Awaited<T>> {
  return held instanceof Promise ? held.then((late) => released(late, work)) : released(held, work);
}

async function released<T>({ store, release }: Held, work: (store: Store) => T): Promise<Awaited<T>> {
  try {
    return await work(store);
  } finally {
    release();
  }
}

/** Values of a held store, which is released at their end. Reading begins with the call. */
function heldValues(
  held: Held | Promise<Held>,
  open: (store: Store) => AsyncIterable<unknown>,
): AsyncIterable<unknown> {
  const begin = ({ store, release }: Held) => ({ iterator: open(store)[Symbol.asyncIterator](), release });
  const begun = held instanceof Promise ? held.then(begin) : Promise.resolve(begin(held));
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
