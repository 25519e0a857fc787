import { assertStorableText, check, defineOptions, invalid, StemmaError } from "@stemma/model";
import type { BlockKey, BlockScope, Store } from "@stemma/store";
import { assertScope, assertSessionId, assertUserId, storeOf } from "@stemma/store";
import { StoreContextProvider } from "./store-context.js";
export interface SharingOptions {
  /** Keep one content for every session and agent on the store, instead of one per session. Default: false. */
  shared?: boolean | undefined;
  /** Whose the content is, as `scope` of a block says. A user's needs a session of a user, or `forUser`. */
  scope?: BlockScope | undefined;
}

export const SHARING = defineOptions<SharingOptions>({ shared: check.flag, scope: assertScope });

/** Whom a provider keeps its content for. */
interface Binding {
  readonly shared: boolean;
  readonly scope: BlockScope | undefined;
  /** The session that uses it; `null` until it is bound, and then the unnamed session's. */
  readonly sessionId: string | null;
  readonly userId: string | null;
}

/** Where a provider keeps its content, and for whom. */
export class ProviderPlace {
  #label: string | undefined;

  private constructor(
    private readonly host: object,
    private readonly own: string | undefined,
    private readonly binding: Binding,
  ) {
    this.#label = own;
  }

  /** The place of a provider that was just made, with a label of its own or without. Errors: `INVALID_ARGUMENT`. */
  static on(host: object, label: string | undefined, { shared = false, scope }: SharingOptions): ProviderPlace {
    if (shared && scope !== undefined) throw invalid("A provider takes shared: true or a scope, not both.");
    return new ProviderPlace(host, label, { shared, scope, sessionId: null, userId: null });
  }

  /** That of a copy for `sessionId`; itself when it serves that session as it is. Errors: `SESSION_ID_BOUND`. */
  forSession(sessionId: string): ProviderPlace {
    const { binding } = this;
    if (binding.shared || this.sessionId === sessionId) return this;
    assertSessionId(sessionId);
    if (binding.sessionId === null) return new ProviderPlace(this.host, this.own, { ...binding, sessionId });
    const message = `The provider is bound to session "${binding.sessionId}". Give session "${sessionId}" one of its own, or make it { shared: true }.`;
    throw new StemmaError("SESSION_ID_BOUND", { sessionId, boundTo: binding.sessionId }, message);
  }

  /** That of a copy for a user; itself when it serves that user as it is. Errors: `SESSION_OWNED`. */
  forUser(userId: string): ProviderPlace {
    const { binding } = this;
    assertUserId(userId);
    // What all share is not confined to one.
    if (binding.shared || binding.userId === userId) return this;
    if (binding.userId === null) return new ProviderPlace(this.host, this.own, { ...binding, userId });
    throw new StemmaError("SESSION_OWNED", {}, "The provider is bound to another user: make another one.");
  }

  /** The store on the host, confined to the user whom the provider serves. */
  get store(): Store {
    const store = storeOf(this.host);
    return this.binding.userId === null ? store : store.forUser(this.binding.userId);
  }

  /** The session id under which the store keeps the content. */
  get sessionId(): string {
    return this.binding.sessionId ?? "";
  }

  get scope(): BlockScope | undefined {
    return this.binding.scope;
  }

  get label(): string {
    return this.#label ?? "";
  }

  /** Takes the label of a block that uses the provider, unless it was made with one. Errors: `INVALID_ARGUMENT`. */
  take(label: string): void {
    const present = this.#label;
    if (present !== undefined && present !== label && this.own === undefined) {
      const message = `This provider already keeps the content of "${present}": make another provider for "${label}".`;
      throw invalid(message, { label, inUseBy: present });
    }
    this.#label = this.own ?? label;
  }
}

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` unless the value can name something in a store. */
export function assertName(value: unknown, what: string): asserts value is string {
  if (typeof value !== "string" || value === "") throw invalid(`${what} must be a text that is not empty.`, { what });
  assertStorableText(value, what);
}

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
