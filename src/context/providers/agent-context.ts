import type { BlockKey, Store } from "../../storage/contract.js";
import { storeOf } from "../../storage/store-of.js";
import { assertName, type Binding, bindTo, type SharingOptions, scopeOf, takeLabel } from "./binding.js";
import { StoreContextProvider } from "./store-context.js";

/**
 * A writable block kept in a store. It belongs to one session (the one that uses it, or the unnamed one when used by
 * itself), unless it is shared.
 */
export class AgentContextProvider extends StoreContextProvider {
  readonly #host: object;
  readonly #ownLabel: string | undefined;
  #label: string | undefined;
  #binding: Binding;

  /**
   * `host` is a store, or an object with a `sql` tagged template. Without a label it takes that of the block that uses it.
   * Errors: `STORE_UNSUPPORTED` at the first use.
   */
  constructor(host: object, label?: string, options: SharingOptions = {}) {
    if (label !== undefined) assertName(label, "The label of a context provider");
    super();
    this.#host = host;
    this.#ownLabel = label;
    this.#label = label;
    this.#binding = { shared: options.shared ?? false, sessionId: null };
  }

  /** A copy bound to this session; itself when it serves that session already. Errors: `SESSION_ID_BOUND`. */
  forSession(sessionId: string): AgentContextProvider {
    const binding = bindTo(this.#binding, sessionId);
    if (!binding) return this;
    const copy = new AgentContextProvider(this.#host, this.#ownLabel);
    copy.#binding = binding;
    return copy;
  }

  /** Takes the block's label, unless one was given at the start. Errors: `INVALID_ARGUMENT` when a block with another label has it. */
  init(label: string): void {
    this.#label = takeLabel(this.#ownLabel, this.#label, label);
  }

  protected override place(): { store: Store; key: BlockKey } {
    const label = this.#label ?? "";
    // `agents` kept what a program made by hand under its label alone, whatever session used it.
    const key = { sessionId: scopeOf(this.#binding), kind: "block", label, upgradedLabel: label } as const;
    return { store: storeOf(this.#host), key };
  }
}
