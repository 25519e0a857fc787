import type { ContextBlock } from "./block.js";
import type { LiveBlock } from "./live-block.js";

/** A block whose content was asked for, or will be once `turn` has come. */
export interface AskedBlock {
  readonly block: LiveBlock;
  readonly content: Promise<ContextBlock> | null;
  readonly turn: Promise<void> | null;
}

/** Asks our own providers now. Those of the host's are asked when it comes to that, after the writes called before now. */
export function ask(blocks: readonly LiveBlock[]): AskedBlock[] {
  return blocks.map((block) => {
    if (!block.turns.isOwn) return { block, content: null, turn: block.turns.turn() };
    const content = block.read();
    // Told to whoever needs the content.
    content.catch(() => {});
    return { block, content, turn: null };
  });
}

/** What was asked for. With `anew`, the host's providers are asked for what is known already too. Errors: `PROVIDER_FAILED`. */
export function answers(asked: readonly AskedBlock[], anew: boolean): Promise<ContextBlock[]> {
  return all(
    asked.map(async ({ block, content, turn }) => {
      if (content !== null) return content;
      if (turn !== null) await turn;
      return anew || !block.loaded ? block.read() : block.snapshot();
    }),
  );
}

/** Waits for all of them, so that no read goes on behind a failed call. */
export async function all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(calls);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
