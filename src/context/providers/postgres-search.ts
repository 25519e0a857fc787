import type { Store } from "../../storage/contract.js";
import type { PostgresSource } from "../../storage/postgres/client.js";
import { postgresStoreOf } from "../../storage/postgres/store.js";
import { AgentSearchProvider } from "./agent-search.js";

/**
 * Searchable entries kept in Postgres. With a label of their own they are the same in the whole database, whatever session
 * uses them; without one they are the session's, under the label of the block.
 */
export class PostgresSearchProvider extends AgentSearchProvider {
  readonly #isNamed: boolean;

  /** `client` is a client or pool of pg, the function of postgres.js, a PGlite database, or a store on one. Errors: `STORE_UNSUPPORTED`. */
  constructor(client: PostgresSource | Store, label?: string) {
    super(postgresStoreOf(client), label);
    this.#isNamed = label !== undefined;
  }

  /** As `AgentSearchProvider` gives it, but `No results found.` where no entry matches. */
  override async search(query: string): Promise<string | null> {
    return (await super.search(query)) ?? (query.trim() === "" ? null : "No results found.");
  }

  /** A copy bound to this session, unless a label was given. Errors: `SESSION_ID_BOUND`. */
  override forSession(sessionId: string): AgentSearchProvider {
    return this.#isNamed ? this : super.forSession(sessionId);
  }
}
