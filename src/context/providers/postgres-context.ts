import type { BlockKey, Store } from "../../storage/contract.js";
import type { PostgresSource } from "../../storage/postgres/client.js";
import { postgresStoreOf } from "../../storage/postgres/store.js";
import { assertName } from "./provider-place.js";
import { StoreContextProvider } from "./store-context.js";

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
