import type { BlockKey, Store } from "../../storage/contract.js";
import {
  assertName,
  type Binding,
  bindTo,
  bindToUser,
  boundStore,
  newBinding,
  type SharingOptions,
  scopeOf,
  takeLabel,
} from "./binding.js";
import { StoreContextProvider } from "./store-context.js";

/**
 * A writable block kept in a store. It belongs to one session (the one that uses it, or the unnamed one when used by
 * itself), unless it is shared or has another scope.
 */
export class AgentContextProvider extends StoreContextProvider {
  readonly #host: object;
  readonly #ownLabel: string | undefined;
  #label: string | undefined;
  #binding: Binding;

  /**
   * `host` is a store, or an object with a `sql` tagged template. Without a label it takes that of the block that uses it.
   * Errors: `INVALID_ARGUMENT`; at the first use `STORE_UNSUPPORTED`, `USER_REQUIRED`.
   */
  constructor(host: object, label?: string, options: SharingOptions = {}) {
    if (label !== undefined) assertName(label, "The label of a context provider");
    super();
    this.#host = host;
    this.#ownLabel = label;
    this.#label = label;
    this.#binding = newBinding(options);
  }

  /** A copy bound to this session; itself when it serves that session already. Errors: `SESSION_ID_BOUND`. */
  forSession(sessionId: string): AgentContextProvider {
    return this.#bound(bindTo(this.#binding, sessionId));
  }

  /** A copy for this user; itself when it serves that user already, and when it is shared. Errors: `SESSION_OWNED`. */
  forUser(userId: string): AgentContextProvider {
    return this.#bound(bindToUser(this.#binding, userId));
  }

  /** Takes the block's label, unless one was given at the start. Errors: `INVALID_ARGUMENT` when a block with another label has it. */
  init(label: string): void {
    this.#label = takeLabel(this.#ownLabel, this.#label, label);
  }

  protected override place(): { store: Store; key: BlockKey } {
    const label = this.#label ?? "";
    const { scope } = this.#binding;
    // `agents` kept what a program made by hand under its label alone, whatever session used it.
    const key = { sessionId: scopeOf(this.#binding), kind: "block", label, scope, upgradedLabel: label } as const;
    return { store: boundStore(this.#host, this.#binding), key };
  }

  #bound(binding: Binding | null): AgentContextProvider {
    if (binding === null) return this;
    const copy = new AgentContextProvider(this.#host, this.#ownLabel);
    copy.#binding = binding;
    return copy;
  }
}
