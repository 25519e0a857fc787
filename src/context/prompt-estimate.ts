import type { ContextBlock } from "./block.js";
import type { LiveBlock } from "./live-block.js";
import { renderPrompt } from "./prompt.js";
import { previewBlocks } from "./read-blocks.js";

interface Preview {
  readonly block: LiveBlock;
  /** Null when it cannot be read. */
  readonly text: string | null;
}

/** What blocks would make of a prompt. It never fails, and leaves blocks that were not read yet as they are. */
export class PromptEstimate {
  #of: readonly Preview[] = [];
  #prompt = "";

  /** Costs next to nothing while the blocks do not change. */
  async prompt(blocks: readonly LiveBlock[]): Promise<string> {
    const previews = await previewsOf(blocks);
    if (!isSame(previews, this.#of)) {
      this.#of = previews;
      this.#prompt = renderPrompt(shown(previews));
    }
    return this.#prompt;
  }

  /** The blocks but for those whose provider fails. */
  async blocks(blocks: readonly LiveBlock[]): Promise<ContextBlock[]> {
    return shown(await previewsOf(blocks));
  }
}

async function previewsOf(blocks: readonly LiveBlock[]): Promise<Preview[]> {
  await previewBlocks(blocks);
  return blocks.map((block) => ({ block, text: block.previewed }));
}

function isSame(some: readonly Preview[], others: readonly Preview[]): boolean {
  if (some.length !== others.length) return false;
  return some.every(({ block, text }, index) => block === others[index]?.block && text === others[index]?.text);
}

function shown(previews: readonly Preview[]): ContextBlock[] {
  return previews.flatMap(({ block, text }) => {
    if (text === null) return [];
    return [block.text === text ? block.snapshot() : block.showing(text)];
  });
}
