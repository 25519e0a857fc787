import type { Observed, Store } from "./contract.js";

/** Does work, of which the store's observer is told, where there is one. */
export function observed<T>(store: Store | null, what: Omit<Observed, "store">, work: () => T): T {
  return store?.observer === undefined ? work() : store.observer({ ...what, store: store.name }, work);
}
