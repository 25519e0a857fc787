import type { Store } from "../../storage/contract.js";
import type { PostgresSource } from "../../storage/postgres/client.js";
import { postgresStoreOf } from "../../storage/postgres/store.js";
import { AgentSearchProvider } from "./agent-search.js";

/**
 * Searchable entries kept in Postgres. The label, by default that of the block, names them in the whole database,
 * whatever session uses them: give a label with the session in it (`knowledge_${sessionId}`) for entries of its own.
 */
export class PostgresSearchProvider extends AgentSearchProvider {
  /** `client` is a client or pool of pg, the function of postgres.js, a PGlite database, or a store on one. Errors: `STORE_UNSUPPORTED`. */
  constructor(client: PostgresSource | Store, label?: string) {
    super(postgresStoreOf(client), label);
  }

  /** As `AgentSearchProvider.search`, with its errors, but `No results found.` when no entry matches. */
  override async search(query: string): Promise<string | null> {
    return (await super.search(query)) ?? (query.trim() === "" ? null : "No results found.");
  }

  /** The provider itself, because the label alone names the entries. Errors: none. */
  override forSession(_sessionId: string): this {
    return this;
  }

  /** The provider itself, for the same reason. Errors: none. */
  override forUser(_userId: string): this {
    return this;
  }
}
