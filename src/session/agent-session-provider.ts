import { storeOf } from "../storage/store-of.js";
import { StoreSessionProvider } from "./store-session-provider.js";

/** The provider of a session that is kept in a store, or in the database of an agent. `Session.create(host)` makes one itself. */
export class AgentSessionProvider extends StoreSessionProvider {
  /** The object it was made on. */
  readonly host: unknown;

  /** `host` is a store or an agent. Without a `sessionId` it is the unnamed session. Errors: `STORE_UNSUPPORTED`. */
  constructor(host: unknown, sessionId?: string) {
    super(storeOf(host), sessionId);
    this.host = host;
  }

  protected override copyFor(sessionId: string): AgentSessionProvider {
    return new AgentSessionProvider(this.host, sessionId);
  }
}
