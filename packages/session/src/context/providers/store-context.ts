import { assertStorableText } from "@stemma/model";
import type { BlockKey, Store, StoredBlock, StoredVersion } from "@stemma/store";
import { DEFAULT_MAX_TOKENS } from "../block.js";
import type { AppendOptions, ContextBlockProvider, VersionedContextProvider, WriteOptions } from "../provider.js";

/** Where a provider keeps its block. */
export let placeOfBlock: (provider: StoreContextProvider) => { readonly store: Store; readonly key: BlockKey };

/**
 * The same of a provider that a block with this label uses. Null for one that is no such provider or reads in its own way, and
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
