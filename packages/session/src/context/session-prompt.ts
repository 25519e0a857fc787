import { foldLabel, sendable } from "@stemma/model";
import type { ContextBlock } from "./block.js";
import type { BlockSet } from "./block-set.js";
import type { LiveBlock } from "./live-block.js";
import { parsePrompt, renderBlock, renderPrompt } from "./prompt.js";
import type { PromptStore } from "./prompt-keeper.js";
import { FrozenPrompt, type PromptOrder, type TimeLimit } from "./prompt-keeper.js";
import { previewBlocks, readBlocks, valuesOf } from "./read-blocks.js";

const REMINDER = "These context blocks have changed since the system prompt was written. They now read:";

export interface PromptOptions {
  /** Keeps the frozen prompt; null keeps it in memory. */
  readonly promptStore: PromptStore | null;
  /** What other objects for the same session order their prompts with. */
  readonly promptOrder?: PromptOrder | undefined;
}

/** The system prompt of one session: rendered from its blocks, then the same until it is rendered anew. */
export class SessionPrompt {
  #frozen: FrozenPrompt;
  #estimate = new PromptEstimate();
  /** The blocks as the prompt was last rendered from them. */
  rendered: readonly ContextBlock[] = [];

  constructor(
    private readonly blocks: BlockSet,
    private readonly options: PromptOptions,
  ) {
    this.#frozen = new FrozenPrompt(options.promptStore, options.promptOrder);
  }

  /** Begins anew, as if nothing had been frozen. What is being rendered is not frozen any more. */
  reset(): void {
    this.#frozen.revoke();
    this.#frozen = new FrozenPrompt(this.options.promptStore, this.options.promptOrder);
    this.#estimate = new PromptEstimate();
    this.rendered = [];
  }

  /** The frozen prompt. The first call, of whatever process, reads the blocks, renders them and stores the result. */
  async freeze(): Promise<string> {
    // A frozen prompt spares reading from the host's providers; ours are read in any case, as the model may have written
    // them since.
    const blocks = this.#frozen.known === null ? ask(this.blocks.all) : null;
    const { prompt, rendered } = await this.#frozen.freeze(() => this.#render(blocks));
    if (!rendered && blocks !== null) await adopt(prompt, blocks);
    return prompt;
  }

  /** Reads every block anew, renders the prompt and stores it as the frozen one. */
  refresh(): Promise<string> {
    const live = this.blocks.all;
    const blocks = this.#calling(live, async () => sendable(valuesOf(await readBlocks(live))));
    // Told in its turn, below.
    blocks.catch(() => {});
    return this.#frozen.refresh(async () => {
      this.rendered = await blocks;
      return renderPrompt(this.rendered);
    });
  }

  /**
   * Renders the prompt anew when `cleared` is done, if one is frozen or it dropped one. Where a provider fails or exceeds
   * `limit`, nothing is frozen any more.
   */
  renew(cleared: Promise<boolean>, limit: TimeLimit): Promise<void> {
    const mayBeFrozen = this.#frozen.known !== null || this.#frozen.isKept;
    const blocks = mayBeFrozen ? ask(this.blocks.all) : null;
    return this.#frozen.renew(cleared, () => this.#render(blocks, true), limit);
  }

  /**
   * What changed, since the prompt was frozen, in the blocks with `whenChanged: "remind"`: a text for the end of the
   * latest user message. Null when nothing did, or nothing is frozen.
   */
  async reminder(): Promise<string | null> {
    const asked = ask(this.blocks.all.filter(({ config }) => config.whenChanged === "remind"));
    const frozen = await this.#frozen.read();
    const blocks = frozen === null ? [] : valuesOf(await this.#answers(asked, true));
    await this.blocks.settle();
    if (frozen === null) return null;
    const shown = contentsIn(frozen);
    const changed = blocks.filter((block) => block.content !== (shown.get(foldLabel(block.label)) ?? ""));
    return changed.length === 0 ? null : [REMINDER, ...changed.map(renderBlock)].join("\n\n");
  }

  /** The frozen prompt, read from where it is kept when this process has not seen it yet. */
  async known(): Promise<string | null> {
    return this.#frozen.known ?? this.#frozen.read();
  }

  /** The prompt for an estimate: the frozen one, or what the blocks would make of it. Never fails. */
  async estimated(): Promise<string> {
    return (await this.#frozen.seen()) ?? this.#estimate.prompt(this.blocks.all);
  }

  /** The same where nobody has to be asked for it; null otherwise. */
  get atHand(): string | null {
    return this.#frozen.atHand;
  }

  /** The blocks for an estimate, but for those whose provider fails. */
  estimatedBlocks(): Promise<ContextBlock[]> {
    return this.#estimate.blocks(this.blocks.all);
  }

  /** The blocks as they are now, read anew, but for those whose provider fails. */
  async presentBlocks(): Promise<ContextBlock[]> {
    const found = await this.#answers(ask(this.blocks.all), true);
    return found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  }

  async #render(asked: AskedBlocks | null, anew = false): Promise<string> {
    return renderPrompt(valuesOf(await this.#answers(asked ?? ask(this.blocks.all), anew)));
  }

  #answers(asked: AskedBlocks, anew: boolean): Promise<PromiseSettledResult<ContextBlock>[]> {
    return this.#calling(asked.blocks, async () => sendable(await answers(asked, anew)));
  }

  #calling<T>(blocks: readonly LiveBlock[], call: () => Promise<T>): Promise<T> {
    return blocks.every(({ turns }) => turns.isOwn) ? call() : this.#frozen.calling(call);
  }
}

// What the host's providers hold is taken as the prompt shows it.
async function adopt(prompt: string, { own, others }: AskedBlocks): Promise<void> {
  if (others.length > 0) {
    const shown = contentsIn(prompt);
    for (const { block } of others) block.assume(shown.get(block.folded) ?? "");
  }
  valuesOf(await own);
}

const contentsIn = (prompt: string) => new Map(parsePrompt(prompt).map(({ label, content }) => [label, content]));

type Result = PromiseSettledResult<ContextBlock>;

/** Blocks whose content was asked for, or will be once their turn has come. */
interface AskedBlocks {
  readonly blocks: readonly LiveBlock[];
  /** How the reads of our own ended. */
  readonly own: Promise<readonly Result[]>;
  readonly others: readonly { readonly block: LiveBlock; readonly turn: Promise<void> | null }[];
}

/** Asks our own providers now. Those of the host's are asked when it comes to that, after the writes called before now. */
function ask(blocks: readonly LiveBlock[]): AskedBlocks {
  const isOwn = ({ turns }: LiveBlock) => turns.isOwn;
  const others = blocks.filter((block) => !isOwn(block));
  return {
    blocks,
    own: readBlocks(blocks.filter(isOwn)),
    others: others.map((block) => ({ block, turn: block.turns.turn() })),
  };
}

/** What was asked for, in order. With `anew`, the host's providers are asked for what is known already too. */
async function answers({ blocks, own, others }: AskedBlocks, anew: boolean): Promise<Result[]> {
  const calls = others.map(async ({ block, turn }) => {
    if (turn !== null) await turn;
    return anew || !block.loaded ? block.read() : block.snapshot();
  });
  const [ours, theirs] = await Promise.all([own, Promise.allSettled(calls)]);
  const [nextOfOurs, nextOfTheirs] = [ours.values(), theirs.values()];
  return blocks.map(({ turns }) => (turns.isOwn ? nextOfOurs : nextOfTheirs).next().value as Result);
}

interface Preview {
  readonly block: LiveBlock;
  /** Null when it cannot be read. */
  readonly text: string | null;
}

/** What blocks would make of a prompt. It never fails, and leaves blocks that were not read yet as they are. */
class PromptEstimate {
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
