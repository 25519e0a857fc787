import type { ContextBlock } from "./block.js";
import type { LiveBlock } from "./live-block.js";
import { readBlocks } from "./read-blocks.js";

type Result = PromiseSettledResult<ContextBlock>;

/** Blocks whose content was asked for, or will be once their turn has come. */
export interface AskedBlocks {
  readonly blocks: readonly LiveBlock[];
  /** How the reads of our own ended. */
  readonly own: Promise<readonly Result[]>;
  readonly others: readonly { readonly block: LiveBlock; readonly turn: Promise<void> | null }[];
}

/** Asks our own providers now. Those of the host's are asked when it comes to that, after the writes called before now. */
export function ask(blocks: readonly LiveBlock[]): AskedBlocks {
  const isOwn = ({ turns }: LiveBlock) => turns.isOwn;
  const others = blocks.filter((block) => !isOwn(block));
  return {
    blocks,
    own: readBlocks(blocks.filter(isOwn)),
    others: others.map((block) => ({ block, turn: block.turns.turn() })),
  };
}

/** What was asked for, in order. With `anew`, the host's providers are asked for what is known already too. */
export async function answers({ blocks, own, others }: AskedBlocks, anew: boolean): Promise<Result[]> {
  const calls = others.map(async ({ block, turn }) => {
    if (turn !== null) await turn;
    return anew || !block.loaded ? block.read() : block.snapshot();
  });
  const [ours, theirs] = await Promise.all([own, Promise.allSettled(calls)]);
  const [nextOfOurs, nextOfTheirs] = [ours.values(), theirs.values()];
  return blocks.map(({ turns }) => (turns.isOwn ? nextOfOurs : nextOfTheirs).next().value as Result);
}
