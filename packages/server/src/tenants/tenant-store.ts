import { once, perObject, StemmaError, withParts } from "@stemma/model";
import {
  consolidate,
  listAll,
  type MethodRow,
  type OnceOperation,
  PART_METHODS,
  type PartMethods,
  type RecordScope,
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

/** The names are records of the server's own store, which no principal reaches: `guard` refuses their label. */
const ERASED: RecordScope = { sessionId: "", label: "stemma:tenants" };

/** Milliseconds for which it counts what was read: within so many, every process knows of a tenant that is erased. */
export const FRESH_FOR = 2_000;
const REFRESH_EVERY = 1_000;
/** No token lasts longer than an hour; a revoked key is remembered for less than the rest. */
const REFUSED_FOR = 3_900_000;
/** Of a process that ended amid it, another one takes over. */
const RESUMED_AFTER = 30_000;

/** How far the erasure of a tenant is, and since when, in milliseconds since 1970. */
interface Erasure {
  readonly state: "erasing" | "erased";
  readonly at: number;
}

/** The tenants that are being erased, and those that were within the last hour: what is left of their tokens reaches nothing. */
export class ErasedTenants {
  #known: ReadonlyMap<string, Erasure> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  /** `onRead` hears each second of what is known. */
  constructor(
    private readonly control: Store,
    onRead: () => void,
  ) {
    // Who comes meanwhile is told why it cannot be read.
    this.#timer = setInterval(() => void this.refresh().then(onRead, () => {}), REFRESH_EVERY);
    // A timer does not keep Node alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** The state of each. */
  get states(): ReadonlyMap<string, Erasure["state"]> {
    return new Map([...this.#known].map(([tenant, { state }]) => [tenant, state]));
  }

  /** Those whose erasure stands still. */
  get abandoned(): string[] {
    const isAbandoned = ({ state, at }: Erasure) => state === "erasing" && Math.abs(Date.now() - at) > RESUMED_AFTER;
    return [...this.#known].flatMap(([tenant, erasure]) => (isAbandoned(erasure) ? [tenant] : []));
  }

  /** True where it is known that the tenant is not erased; false also where it has to be read. */
  isKept(tenant: string): boolean {
    return performance.now() - this.#readAt < FRESH_FOR && !this.#known.has(tenant);
  }

  /** Errors: `TENANT_ERASED`; those of the store. */
  async assertKept(tenant: string): Promise<void> {
    if (performance.now() - this.#readAt >= FRESH_FOR) await this.refresh();
    if (this.#known.has(tenant)) throw isErased(tenant);
  }

  /** For a store that was just opened: this process may have stood still since it was asked. Errors: `TENANT_ERASED`; those of the store. */
  async assertStillKept(tenant: string): Promise<void> {
    if ((await this.control.records.get(ERASED, tenant)) !== null) throw isErased(tenant);
  }

  /** Reads them anew; those who ask while that runs get what it finds. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async mark(tenant: string, state: Erasure["state"]): Promise<void> {
    const erasure: Erasure = { state, at: Date.now() };
    const value = new TextEncoder().encode(JSON.stringify(erasure));
    const options = state === "erased" ? { expiresAt: erasure.at + REFUSED_FOR } : {};
    await this.control.records.set(ERASED, tenant, value, options);
    this.#known = new Map(this.#known).set(tenant, erasure);
  }

  async unmark(tenant: string): Promise<void> {
    await this.control.records.delete(ERASED, tenant);
    await this.refresh();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const began = performance.now();
    const found = new Map<string, Erasure>();
    const page = (asked: object) => this.control.records.list(ERASED, asked);
    for await (const { key, value } of listAll(page, ({ key }) => key)) {
      found.set(key, JSON.parse(new TextDecoder().decode(value)) as Erasure);
    }
    this.#known = found;
    this.#readAt = began;
  }
}

function isErased(tenant: string): StemmaError {
  return new StemmaError("TENANT_ERASED", { tenant }, `The tenant "${tenant}" is erased, or is about to be.`);
}
