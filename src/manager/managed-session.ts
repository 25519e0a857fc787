import type { SessionListener } from "../session/events.js";
import type { ToolsOf } from "../session/known-tools.js";
import type { SessionProvider } from "../session/provider.js";
import { Session } from "../session/session.js";

/** The sessions that must not go, each as often as there is a reason. */
export type Kept = Map<Session, number>;

// Who has a session's tools has the session: they work on its blocks.
const ofTool = new WeakMap<object, Session>();

/** A session of a manager, which keeps it as long as someone is subscribed to it or a call is under way. */
export class ManagedSession extends Session {
  readonly #kept: Kept;

  constructor(provider: SessionProvider, kept: Kept) {
    super(provider);
    this.#kept = kept;
  }

  override subscribe(listener: SessionListener): () => void {
    const unsubscribe = super.subscribe(listener);
    let release: (() => void) | null = this.keep();
    return () => {
      unsubscribe();
      release?.();
      // What ends a subscription does not hold on to the session.
      release = null;
    };
  }

  override async tools(): Promise<ToolsOf<this>> {
    const release = this.keep();
    try {
      const tools = await super.tools();
      for (const tool of Object.values(tools)) ofTool.set(tool, this);
      return tools;
    } finally {
      release();
    }
  }

  /** Keeps the session until the result is called, once. */
  keep(): () => void {
    const kept = this.#kept;
    kept.set(this, (kept.get(this) ?? 0) + 1);
    return () => {
      const left = (kept.get(this) ?? 1) - 1;
      if (left === 0) kept.delete(this);
      else kept.set(this, left);
    };
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
      return result instanceof Promise ? result.finally(this.keep()) : result;
    },
  });
}
