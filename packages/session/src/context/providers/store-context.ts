import { assertStorableText, check, defineOptions, invalid, StemmaError } from "@stemma/model";
import {
  assertScope,
  assertSessionId,
  assertUserId,
  type BlockKey,
  type BlockScope,
  type Store,
  type StoredBlock,
  type StoredVersion,
  storeOf,
} from "@stemma/store";
import { DEFAULT_MAX_TOKENS } from "../block.js";
import type { AppendOptions, ContextBlockProvider, VersionedContextProvider, WriteOptions } from "../provider.js";
/** Where a provider keeps its block. */
export let placeOfBlock: (provider: StoreContextProvider) => { readonly store: Store; readonly key: BlockKey };

/**
 * Finds where a provider keeps the block with this label. Null for one that is no such provider or reads in its own way, and
 * where that fails, as it does again when it reads.
 */
export function placeOf(provider: ContextBlockProvider, label: string): ReturnType<typeof placeOfBlock> | null {
  const isOurs = provider instanceof StoreContextProvider && provider.read === StoreContextProvider.prototype.read;
  if (!isOurs) return null;
  try {
    (provider as ContextBlockProvider).init?.(label);
    return placeOfBlock(provider);
  } catch {
    return null;
  }
}

/**
 * A writable block that is kept in a store. A session checks its block's budget; writes made here directly are not
 * bounded, but for appends, which `DEFAULT_MAX_TOKENS` bounds.
 */
export abstract class StoreContextProvider implements VersionedContextProvider {
  static {
    placeOfBlock = (provider) => provider.place();
  }

  /** Where the block is kept. */
  protected abstract place(): { readonly store: Store; readonly key: BlockKey };

  async get(): Promise<string | null> {
    return (await this.read())?.content ?? null;
  }

  /** Content and version; null when nothing was stored yet. */
  async read(): Promise<StoredBlock | null> {
    const { store, key } = this.place();
    return store.blocks.get(key);
  }

  /** Errors: `BLOCK_CONFLICT`, `INVALID_TEXT`. */
  async set(content: string, options: WriteOptions = {}): Promise<StoredBlock> {
    assertStorableText(content, "The content of a context block");
    const { store, key } = this.place();
    return store.blocks.set(key, content, options);
  }

  /** Appends in the store, on a new line: concurrent appends are all kept. Errors: `BLOCK_OVER_BUDGET`, `INVALID_TEXT`. */
  async append(
    content: string,
    { maxTokens = DEFAULT_MAX_TOKENS, ...options }: AppendOptions = {},
  ): Promise<StoredBlock> {
    assertStorableText(content, "The content of a context block");
    const { store, key } = this.place();
    return store.blocks.append(key, content, { ...options, maxTokens });
  }

  /** The versions that are kept, the newest first; the present one is among them. */
  async versions(): Promise<StoredVersion[]> {
    const { store, key } = this.place();
    return store.blocks.versions(key);
  }
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
