import type { PostgresSource } from "@stemma/postgres";
import { postgresStoreOf } from "@stemma/postgres";
import type { BlockKey, Store } from "@stemma/store";
import type { SearchTimes } from "../../tools/times.js";
import { AgentSearchProvider } from "./agent-search.js";
import { assertName, StoreContextProvider } from "./store-context.js";
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
  override async search(query: string, times?: SearchTimes): Promise<string | null> {
    return (await super.search(query, times)) ?? (query.trim() === "" ? null : "No results found.");
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

/**
 * A writable block kept in Postgres. The label names it in the whole database, whatever session uses it: put the session
 * into the label (`memory_${sessionId}`) for a block of its own.
 */
export class PostgresContextProvider extends StoreContextProvider {
  readonly #store: Store;
  readonly #label: string;

  /** `client` is a client or pool of pg, the function of postgres.js, a PGlite database, or a store on one. Errors: `STORE_UNSUPPORTED`. */
  constructor(client: PostgresSource | Store, label: string) {
    assertName(label, "The label of a context provider");
    super();
    this.#store = postgresStoreOf(client);
    this.#label = label;
  }

  protected override place(): { store: Store; key: BlockKey } {
    return { store: this.#store, key: { sessionId: "", kind: "block", label: this.#label } };
  }
}
