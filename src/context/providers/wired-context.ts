import type { BlockKey, Store } from "../../storage/contract.js";
import { StoreContextProvider } from "./store-context.js";

/** The block of a session that names no provider: kept in the session's store, for whom its scope says. */
export class WiredContextProvider extends StoreContextProvider {
  constructor(
    private readonly store: Store,
    private readonly key: BlockKey,
  ) {
    super();
  }

  protected override place(): { store: Store; key: BlockKey } {
    return { store: this.store, key: this.key };
  }
}
