import type { BlockKey, BlockScope, Store } from "../../storage/contract.js";
import { StoreContextProvider } from "./store-context.js";

/** The block of a session that names no provider: kept in the session's store, for whom its scope says. */
export class WiredContextProvider extends StoreContextProvider {
  readonly #store: Store;
  readonly #key: BlockKey;

  constructor(store: Store, sessionId: string, label: string, scope?: BlockScope) {
    super();
    this.#store = store;
    this.#key = { sessionId, kind: "block", label, scope };
  }

  protected override place(): { store: Store; key: BlockKey } {
    return { store: this.#store, key: this.#key };
  }
}
