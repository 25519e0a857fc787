import type { Store } from "@stemma/store";
import { type SearchProvider, searchesMessages } from "../context/provider.js";
import type { SessionListener } from "../session/events.js";
import type { ToolsOf } from "../session/known-tools.js";
import type { SessionProvider } from "../session/own-provider/provider.js";
import { resetSession, Session } from "../session/session.js";
import { formatHits } from "../tools/format-hits.js";

/** Entries below which nothing is cleared away. */
const MIN_ENTRIES = 1000;
/** Sessions that stay although nobody refers to them: the ones that were asked for last. */
const MAX_RECENT = 100;
/** New sessions after which the event loop has to turn. */
const MAX_BETWEEN_YIELDS = 1000;

/**
 * The sessions that are in use, by id. One is forgotten once nobody refers to it: not the host, not a call that is under
 * way, not a subscription (see `ManagedSession`), and when so many others were asked for since.
 */
export class SessionCache implements SessionKeeper {
  readonly #sessions = new Map<string, SessionRef>();
  /** The one that was asked for last at the end. */
  readonly #recent = new Set<Session>();
  /** The sessions that must not go, each as often as there is a reason. */
  readonly #inUse = new Map<Session, number>();
  #sweepAt = MIN_ENTRIES;
  #sinceYield = 0;
  #yield: Promise<void> | null = null;

  get(sessionId: string): Session | undefined {
    const session = this.#sessions.get(sessionId)?.deref();
    if (session !== undefined) this.#use(session);
    return session;
  }

  set(sessionId: string, session: Session): void {
    this.#use(session);
    this.#sessions.set(sessionId, refTo(session));
    this.#sinceYield += 1;
    if (this.#sessions.size < this.#sweepAt) return;
    for (const [id, ref] of this.#sessions) if (ref.deref() === undefined) this.#sessions.delete(id);
    // So that the sweeping costs each session a constant share, however many are in use.
    this.#sweepAt = Math.max(MIN_ENTRIES, 2 * this.#sessions.size);
  }

  /** Lets go of a session that was deleted. Whoever refers to it keeps the same object. */
  reset(sessionId: string): void {
    const session = this.#sessions.get(sessionId)?.deref();
    if (session === undefined) return;
    this.#recent.delete(session);
    resetSession(session);
  }

  keep(session: Session): () => void {
    this.#inUse.set(session, (this.#inUse.get(session) ?? 0) + 1);
    return () => {
      const left = (this.#inUse.get(session) ?? 1) - 1;
      if (left === 0) this.#inUse.delete(session);
      else this.#inUse.set(session, left);
    };
  }

  async during<T>(session: Session, call: Promise<T>): Promise<T> {
    const release = this.keep(session);
    try {
      return await call;
    } finally {
      release();
      if (this.#sinceYield >= MAX_BETWEEN_YIELDS) await this.#yieldToLoop();
    }
  }

  // A WeakRef holds its session until the event loop turns, which calls of a synchronous store alone never let it do.
  #yieldToLoop(): Promise<void> {
    this.#yield ??= new Promise((resolve) => {
      setTimeout(() => {
        this.#yield = null;
        this.#sinceYield = 0;
        resolve();
      });
    });
    return this.#yield;
  }

  #use(session: Session): void {
    this.#recent.delete(session);
    this.#recent.add(session);
    if (this.#recent.size <= MAX_RECENT) return;
    const [oldest = session] = this.#recent;
    this.#recent.delete(oldest);
  }
}

interface SessionRef {
  deref(): Session | undefined;
}

// Workers without the flag `enable_weak_ref` have none.
function refTo(session: Session): SessionRef {
  return typeof WeakRef === "undefined" ? { deref: () => session } : new WeakRef(session);
}

/** Holds the sessions that are in use. */
interface SessionKeeper {
  /** Keeps a session until the result is called, once. */
  keep(session: Session): () => void;
  /** Keeps a session until `call` is settled, and gives what that gives. */
  during<T>(session: Session, call: Promise<T>): Promise<T>;
}

// Who has a session's tools has the session: they work on its blocks.
const ofTool = new WeakMap<object, Session>();

/** A session of a manager, which keeps it as long as someone is subscribed to it or a call is under way. */
export class ManagedSession extends Session {
  readonly #keeper: SessionKeeper;

  constructor(provider: SessionProvider, keeper: SessionKeeper) {
    super(provider);
    this.#keeper = keeper;
  }

  override subscribe(listener: SessionListener): () => void {
    const unsubscribe = super.subscribe(listener);
    let release: (() => void) | null = this.#keeper.keep(this);
    return () => {
      unsubscribe();
      release?.();
      // What ends a subscription does not hold on to the session.
      release = null;
    };
  }

  override async tools(): Promise<ToolsOf<this>> {
    const tools = await this.during(super.tools());
    for (const tool of Object.values(tools)) ofTool.set(tool, this);
    return tools;
  }

  during<T>(call: Promise<T>): Promise<T> {
    return this.#keeper.during(this, call);
  }
}

type Method = (this: Session, ...args: unknown[]) => unknown;

// Each call that gives a promise, of whatever methods a session has, keeps it until that is settled.
const own = Object.getOwnPropertyNames(ManagedSession.prototype);
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(Session.prototype))) {
  if (typeof value !== "function" || own.includes(name)) continue;
  const method = value as Method;
  Object.defineProperty(ManagedSession.prototype, name, {
    configurable: true,
    writable: true,
    value(this: ManagedSession, ...args: unknown[]) {
      const result = method.apply(this, args);
      return result instanceof Promise ? this.during(result) : result;
    },
  });
}

const MAX_RESULTS = 10;

/** A block that finds messages of every session of a store. */
export function searchableHistory(store: Store): SearchProvider {
  const provider: SearchProvider = {
    get: async () => {
      const count = await store.sessions.count();
      return `${count} ${count === 1 ? "session" : "sessions"} available for search.`;
    },
    searchesByTime: true,
    search: async (query, times) => {
      const hits = await store.search(query, { ...times, limit: MAX_RESULTS });
      return hits.length === 0 ? null : formatHits(hits, query);
    },
  };
  searchesMessages.add(provider);
  return provider;
}
