import { resetSession, type Session } from "../session/session.js";
import type { SessionKeeper } from "./managed-session.js";

/** Entries below which nothing is cleared away. */
const MIN_ENTRIES = 1000;
/** Sessions that stay although nobody refers to them: the ones that were asked for last. */
const MAX_RECENT = 100;
/** New sessions after which the event loop has to turn. */
const MAX_BETWEEN_TURNS = 1000;

/**
 * The sessions that are in use, by id. One is forgotten once nobody refers to it: not the host, not a call that is under
 * way, not a subscription (see `ManagedSession`), and when so many others were asked for since.
 */
export class SessionCache implements SessionKeeper {
  readonly #sessions = new Map<string, SessionRef>();
  /** The one that was asked for last at the end. */
  readonly #recent = new Set<Session>();
  /** The sessions that must not go, each as often as there is a reason. */
  readonly #kept = new Map<Session, number>();
  #sweepAt = MIN_ENTRIES;
  #sinceTurn = 0;
  #turn: Promise<void> | null = null;

  get(sessionId: string): Session | undefined {
    const session = this.#sessions.get(sessionId)?.deref();
    if (session !== undefined) this.#use(session);
    return session;
  }

  set(sessionId: string, session: Session): void {
    this.#use(session);
    this.#sessions.set(sessionId, refTo(session));
    this.#sinceTurn += 1;
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
    this.#kept.set(session, (this.#kept.get(session) ?? 0) + 1);
    return () => {
      const left = (this.#kept.get(session) ?? 1) - 1;
      if (left === 0) this.#kept.delete(session);
      else this.#kept.set(session, left);
    };
  }

  async during<T>(session: Session, call: Promise<T>): Promise<T> {
    const release = this.keep(session);
    try {
      return await call;
    } finally {
      release();
      if (this.#sinceTurn >= MAX_BETWEEN_TURNS) await this.#turnOfTheLoop();
    }
  }

  // A WeakRef holds its session until the event loop turns, which calls of a synchronous store alone never let it do.
  #turnOfTheLoop(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setTimeout(() => {
        this.#turn = null;
        this.#sinceTurn = 0;
        resolve();
      });
    });
    return this.#turn;
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
