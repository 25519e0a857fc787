import type { Store } from "../storage/contract.js";
import type { PostgresSource } from "../storage/postgres/client.js";
import { postgresStoreOf } from "../storage/postgres/store.js";
import { StoreSessionProvider } from "./store-session-provider.js";

/**
 * The provider of a session that is kept in Postgres. Blocks that persist, and the frozen prompt, need providers of their
 * own: a session on this one makes none by itself, as a session on `postgres(client)` does.
 */
export class PostgresSessionProvider extends StoreSessionProvider {
  /** `client` is a client or pool of pg, the function of postgres.js, a PGlite database, or a store on one. Errors: `STORE_UNSUPPORTED`. */
  constructor(client: PostgresSource | Store, sessionId?: string) {
    super(postgresStoreOf(client), sessionId);
  }

  protected override copyFor(sessionId: string | undefined, store: Store): PostgresSessionProvider {
    return new PostgresSessionProvider(store, sessionId);
  }
}
