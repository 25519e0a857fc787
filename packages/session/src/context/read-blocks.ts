import { forEachYielding } from "@stemma/model";
import type { BlockKey, Store } from "@stemma/store";
import type { ContextBlock } from "./block.js";
import type { Reading } from "./block-content.js";
import { type LiveBlock, readingOf } from "./live-block.js";
import { placeOf } from "./providers/store-context.js";

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

/** What was read. Throws the first error that a read ended with. */
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
    const owner = JSON.stringify([place?.key.sessionId, place?.key.scope]);
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
