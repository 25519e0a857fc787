import type { SessionListener } from "../session/events.js";
import type { ToolsOf } from "../session/known-tools.js";
import type { SessionProvider } from "../session/provider.js";
import { Session } from "../session/session.js";

/** What a manager does so that the sessions in use do not go. */
export interface SessionKeeper {
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
