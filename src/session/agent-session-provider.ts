import { StemmaError } from "../errors.js";
import { storeOf } from "../storage/store-of.js";
import { StoreSessionProvider } from "./store-session-provider.js";

/** The provider of a session that is kept in a store, or in the database of an agent. `Session.create(host)` makes one itself. */
export class AgentSessionProvider extends StoreSessionProvider {
  /** The object it was made on. */
  readonly host: unknown;
  private readonly bound: boolean;

  /** `host` is a store or an agent. Without a `sessionId` it is the unnamed session. Errors: `STORE_UNSUPPORTED`. */
  constructor(host: unknown, sessionId?: string) {
    super(storeOf(host), sessionId ?? "");
    this.host = host;
    this.bound = sessionId !== undefined;
  }

  /** The same for another session. Errors: `SESSION_ID_BOUND` when it was made for a certain one. */
  forSession(sessionId: string): AgentSessionProvider {
    if (sessionId === this.sessionId) return this;
    if (this.bound) {
      const message = `This provider was made for session "${this.sessionId}"; make one for "${sessionId}".`;
      throw new StemmaError("SESSION_ID_BOUND", { sessionId: this.sessionId, requested: sessionId }, message);
    }
    return new AgentSessionProvider(this.host, sessionId);
  }
}
