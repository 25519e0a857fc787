import type { BlockKey, Store } from "@stemma/store";
import { assertName, ProviderPlace, SHARING, type SharingOptions } from "./provider-place.js";
import { StoreContextProvider } from "./store-context.js";

/**
 * A writable block kept in a store. It belongs to one session (the one that uses it, or the unnamed one when used by
 * itself), unless it is shared or has another scope.
 */
export class AgentContextProvider extends StoreContextProvider {
  #place: ProviderPlace;

  /**
   * `host` is a store, or an object with a `sql` tagged template. Without a label it takes that of the block that uses it.
   * Errors: `INVALID_ARGUMENT`; at the first use `STORE_UNSUPPORTED`, `USER_REQUIRED`.
   */
  constructor(host: object, label?: string, options: SharingOptions = {}) {
    if (label !== undefined) assertName(label, "The label of a context provider");
    SHARING.assert(options, "AgentContextProvider");
    super();
    this.#place = ProviderPlace.on(host, label, options);
  }

  /** A copy bound to this session; itself when it serves that session already. Errors: `SESSION_ID_BOUND`. */
  forSession(sessionId: string): AgentContextProvider {
    return this.#at(this.#place.forSession(sessionId));
  }

  /** A copy for this user; itself when it serves that user already, and when it is shared. Errors: `SESSION_OWNED`. */
  forUser(userId: string): AgentContextProvider {
    return this.#at(this.#place.forUser(userId));
  }

  /** Takes the block's label, unless one was given at the start. Errors: `INVALID_ARGUMENT` when a block with another label has it. */
  init(label: string): void {
    this.#place.take(label);
  }

  protected override place(): { store: Store; key: BlockKey } {
    const { store, sessionId, label, scope } = this.#place;
    // `agents` kept what a program made by hand under its label alone, whatever session used it.
    return { store, key: { sessionId, kind: "block", label, scope, upgradedLabel: label } };
  }

  #at(place: ProviderPlace): AgentContextProvider {
    if (place === this.#place) return this;
    // Its place names the host.
    const copy = new AgentContextProvider({});
    copy.#place = place;
    return copy;
  }
}
