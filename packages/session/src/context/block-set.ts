import { foldLabel, forEachYielding, StemmaError } from "@stemma/model";
import type { BlockKey, BlockScope, Store } from "@stemma/store";
import { assertBlockOptions, type ContextBlock, type ContextBlockOptions, type ContextConfig } from "./block.js";
import { assertNewLabel } from "./label.js";
import { LiveBlock, notLoaded, type Reading, readingOf } from "./live-block.js";
import type { WritableContextProvider } from "./provider.js";
import { placeOf } from "./providers/store-context.js";
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
    const underWay = Promise.allSettled(unknown.flatMap(({ reading }) => reading ?? []));
    const read = readBlocks(unknown.filter(({ reading }) => reading === null));
    for (const result of (await Promise.all([underWay, read])).flat()) {
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

type Result<T> = PromiseSettledResult<T>;

/** How many blocks are each asked for by itself, so that none waits for the others. */
const FEW = 20;

/** Reads blocks anew, many of one owner with one call. All calls are made before this returns. Tells of each how that ended. */
export function readBlocks(blocks: readonly LiveBlock[]): Promise<Result<ContextBlock>[]> {
  const started = new Map(blocks.map((block) => [block, block.start()]));
  return read(
    blocks,
    (block) => block.read(),
    (block, found) => block.take(started.get(block) as number, found),
  );
}

/** Asks blocks for a preview in the same way. */
export function previewBlocks(blocks: readonly LiveBlock[]): Promise<unknown> {
  return read(
    blocks.filter(({ hasPreview }) => !hasPreview),
    (block) => block.preview(),
    (block, { text }) => block.assumePreview(text),
  );
}

/** The values that were read. Throws the first error that a read ended with. */
export function valuesOf<T>(results: readonly Result<T>[]): T[] {
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** Blocks that a store keeps for one owner. */
interface Group {
  readonly store: Store;
  readonly some: LiveBlock[];
  readonly keys: BlockKey[];
}

/** Reads each block with `one`; `many` takes what a store answered for many. */
async function read<T>(
  blocks: readonly LiveBlock[],
  one: (block: LiveBlock) => Promise<T>,
  many: (block: LiveBlock, found: Reading) => T,
): Promise<Result<T>[]> {
  if (blocks.length <= FEW) return Promise.allSettled(blocks.map(one));
  const results = new Map<LiveBlock, Result<T>>();
  const readEach = async (some: readonly LiveBlock[]): Promise<void> => {
    const settled = await Promise.allSettled(some.map(one));
    for (const [index, block] of some.entries()) results.set(block, settled[index] as Result<T>);
  };
  const readMany = async ({ store, some, keys }: Group): Promise<void> => {
    // What fails one of them need not fail the others.
    const found = await store.blocks.getMany?.(keys).catch(() => undefined);
    if (found === undefined) return readEach(some);
    await forEachYielding(some.entries(), ([index, block]) => {
      results.set(block, { status: "fulfilled", value: many(block, readingOf(found[index] ?? null)) });
    });
  };
  const others: LiveBlock[] = [];
  const groups = new Map<string, Group>();
  for (const block of blocks) {
    const place = placeOf(block.provider, block.label);
    const { sessionId = "", scope = "" } = place?.key ?? {};
    const owner = `${typeof scope === "string" ? scope : JSON.stringify(scope)}\0${sessionId}`;
    const group = groups.get(owner);
    if (place === null || (group !== undefined && group.store !== place.store)) others.push(block);
    else if (group === undefined) groups.set(owner, { store: place.store, some: [block], keys: [place.key] });
    else {
      group.some.push(block);
      group.keys.push(place.key);
    }
  }
  await Promise.all([readEach(others), ...Array.from(groups.values(), readMany)]);
  return blocks.map((block) => results.get(block) as Result<T>);
}
