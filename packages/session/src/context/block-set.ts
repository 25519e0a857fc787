import { foldLabel, StemmaError } from "@stemma/model";
import type { BlockScope } from "@stemma/store";
import { assertBlockOptions, type ContextBlock, type ContextBlockOptions, type ContextConfig } from "./block.js";
import { notLoaded } from "./block-content.js";
import { assertNewLabel } from "./label.js";
import { LiveBlock } from "./live-block.js";
import type { WritableContextProvider } from "./provider.js";
import { readBlocks } from "./read-blocks.js";

export interface BlockSetOptions {
  readonly configs: readonly ContextConfig[];
  /** Makes the provider of a block that names none; null where there is no store to keep one in. */
  readonly wire: ((label: string, scope: BlockScope | undefined) => WritableContextProvider) | null;
  /** Providers of the host's are not called unless it resolves. */
  readonly open?: (() => Promise<void>) | undefined;
  /** Providers of blocks that have `forSession` are bound to it. */
  readonly sessionId: string;
  /** Those that have `forUser` are bound to this; absent in a session that is confined to nobody. */
  readonly userId?: string | undefined;
}

/** The blocks of one session, in the order in which they were added. Labels are matched without regard to case. */
export class BlockSet {
  readonly #blocks = new Map<string, LiveBlock>();
  /** Blocks that are being added. */
  readonly #added = new Set<LiveBlock>();

  /** Errors: `INVALID_LABEL`, `DUPLICATE_LABEL`, `INVALID_ARGUMENT`, `PROVIDER_REQUIRED`. */
  constructor(private readonly options: BlockSetOptions) {
    for (const config of options.configs) this.#put(config);
  }

  /** Begins anew with the configured blocks, as if none had been read. */
  reset(): void {
    this.#blocks.clear();
    this.#added.clear();
    for (const config of this.options.configs) this.#put(config);
  }

  get all(): LiveBlock[] {
    return [...this.#blocks.values()];
  }

  /** Those that are there for everyone: not those of which the first read is under way. Errors: `CONTEXT_NOT_LOADED`. */
  shown(): LiveBlock[] {
    const blocks = this.#settled();
    if (blocks.every(({ tried }) => tried)) return blocks;
    throw notLoaded();
  }

  get(label: string): LiveBlock | undefined {
    return this.#blocks.get(foldLabel(label));
  }

  /** Errors: `BLOCK_NOT_FOUND`. */
  find(label: string): LiveBlock {
    const block = this.get(label);
    if (block) return block;
    const labels = this.#labels();
    const present = labels.length === 0 ? "There are no blocks." : `The blocks are: ${labels.join(", ")}.`;
    throw new StemmaError("BLOCK_NOT_FOUND", { label, labels }, `No block has the label "${label}". ${present}`);
  }

  /** Adds a block at the end and reads it. Errors: those of the constructor, and `PROVIDER_FAILED`; then no block was added. */
  async add(label: string, options: ContextBlockOptions): Promise<ContextBlock> {
    const block = this.#put({ ...options, label });
    this.#added.add(block);
    try {
      return await this.settling(block.read());
    } catch (error) {
      if (this.has(block)) this.#blocks.delete(block.folded);
      throw error;
    } finally {
      this.#added.delete(block);
    }
  }

  /** False when there is none. Errors: `CONTEXT_NOT_LOADED`. */
  remove(label: string): boolean {
    this.shown();
    return this.#blocks.delete(foldLabel(label));
  }

  /** True unless the block was removed. */
  has(block: LiveBlock): boolean {
    return this.#blocks.get(block.folded) === block;
  }

  /**
   * Reads the blocks of which nothing is known. A provider that fails does not fail calls that do without it: its block keeps
   * the error, and throws it where its content is asked for.
   */
  async settle(except?: LiveBlock): Promise<void> {
    const unknown = this.#settled().filter((block) => !block.tried && block !== except);
    for (const result of await readBlocks(unknown)) {
      if (result.status === "rejected" && !StemmaError.isInstance(result.reason, "PROVIDER_FAILED"))
        throw result.reason;
    }
  }

  /** Gives what `call` gives, which reads `reads`. It was handed over before what else is not known yet is read. */
  async settling<T>(call: Promise<T>, reads?: LiveBlock): Promise<T> {
    const [done, settled] = await Promise.allSettled([call, this.settle(reads)]);
    if (done.status === "rejected") throw done.reason;
    if (settled.status === "rejected") throw settled.reason;
    return done.value;
  }

  #settled(): LiveBlock[] {
    return this.all.filter((block) => !this.#added.has(block));
  }

  #labels(): string[] {
    return this.all.map(({ label }) => label);
  }

  #put(config: ContextConfig): LiveBlock {
    const { label, scope } = config;
    const existing = typeof label === "string" ? this.get(label) : undefined;
    assertNewLabel(label, existing?.label);
    assertBlockOptions(config);
    const { wire, sessionId, userId, open = async () => {} } = this.options;
    const provider = config.provider ?? wire?.(label, scope);
    if (!provider) {
      const message = `Block "${label}" needs a provider: this session's storage has no place for context blocks.`;
      throw new StemmaError("PROVIDER_REQUIRED", { label }, message);
    }
    const bound = provider.forSession?.(sessionId) ?? provider;
    const block = new LiveBlock(config, userId === undefined ? bound : (bound.forUser?.(userId) ?? bound), open);
    this.#blocks.set(block.folded, block);
    return block;
  }
}
