import type { Store } from "../storage/contract.js";
import { storeOf } from "../storage/store-of.js";
import { StoreSessionProvider } from "./store-session-provider.js";

/** The provider of a session that is kept in a store, or in the database of an agent. `Session.create(host)` makes one itself. */
export class AgentSessionProvider extends StoreSessionProvider {
  /** The object it was made on. */
  readonly host: unknown;

  /**
   * `host` is a store or an agent, `store` the one on it that is used. Without a `sessionId` it is the unnamed session.
   * Errors: `STORE_UNSUPPORTED`.
   */
  constructor(host: unknown, sessionId?: string, store: Store = storeOf(host)) {
    super(store, sessionId);
    this.host = host;
  }

  protected override copyFor(sessionId: string | undefined, store: Store): AgentSessionProvider {
    return new AgentSessionProvider(this.host, sessionId, store);
  }
}
