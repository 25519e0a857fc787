import { assertStorableText } from "../../model/text.js";
import type { BlockKey, BlockStore, StoredBlock } from "../../storage/contract.js";
import { storeOf } from "../../storage/store-of.js";
import { DEFAULT_MAX_TOKENS } from "../block.js";
import type { AppendOptions, VersionedContextProvider, WriteOptions } from "../provider.js";
import { assertName, type Binding, bindTo, type SharingOptions, scopeOf } from "./binding.js";

/**
 * A writable block kept in a store. It belongs to one session (the one that uses it, or the unnamed one when used by
 * itself), unless it is shared. A session checks its block's budget; writes made here directly are not bounded, but for
 * appends, which `DEFAULT_MAX_TOKENS` bounds.
 */
export class AgentContextProvider implements VersionedContextProvider {
  readonly #host: object;
  readonly #label: string;
  #binding: Binding;

  /** `host` is a store, or an object with a `sql` tagged template. Errors: `STORE_UNSUPPORTED` at the first use. */
  constructor(host: object, label: string, options: SharingOptions = {}) {
    assertName(label, "The label of a context provider");
    this.#host = host;
    this.#label = label;
    this.#binding = { shared: options.shared ?? false, sessionId: null };
  }

  /** A copy bound to this session; itself when it serves that session already. Errors: `SESSION_ID_BOUND`. */
  forSession(sessionId: string): AgentContextProvider {
    const binding = bindTo(this.#binding, sessionId);
    if (!binding) return this;
    const copy = new AgentContextProvider(this.#host, this.#label);
    copy.#binding = binding;
    return copy;
  }

  async get(): Promise<string | null> {
    return (await this.read())?.content ?? null;
  }

  /** Content and version; null when nothing was stored yet. */
  async read(): Promise<StoredBlock | null> {
    return this.#blocks.get(this.#key);
  }

  /** Errors: `BLOCK_CONFLICT`, `INVALID_TEXT`. */
  async set(content: string, options: WriteOptions = {}): Promise<StoredBlock> {
    assertStorableText(content, "The content of a context block");
    return this.#blocks.set(this.#key, content, options);
  }

  /** Appends in the store: concurrent appends are all kept. Errors: `BLOCK_OVER_BUDGET`, `INVALID_TEXT`. */
  async append(content: string, { maxTokens = DEFAULT_MAX_TOKENS }: AppendOptions = {}): Promise<StoredBlock> {
    assertStorableText(content, "The content of a context block");
    return this.#blocks.append(this.#key, content, { maxTokens });
  }

  get #blocks(): BlockStore {
    return storeOf(this.#host).blocks;
  }

  get #key(): BlockKey {
    return { sessionId: scopeOf(this.#binding), kind: "block", label: this.#label };
  }
}
