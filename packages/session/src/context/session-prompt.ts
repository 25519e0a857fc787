// One class and its parts: the prompt of a session, frozen, stored, refreshed, and compared with what there is now.
import { foldLabel, inPieces, mapped, once, type Queue, queueOf, StemmaError, sendable } from "@stemma/model";
import type { BlockWrite } from "@stemma/store";
import type { ContextBlock } from "./block.js";
import type { BlockSet } from "./block-set.js";
import { previewBlocks, readBlocks, valuesOf } from "./block-set.js";
import { hostCallsOf } from "./host-calls.js";
import type { LiveBlock } from "./live-block.js";
import { contentsOf, renderBlock, renderedPrompt } from "./prompt.js";
import { callProvider, readProvider, type WritableContextProvider, type WriteOptions } from "./provider.js";

const REMINDER = "These context blocks have changed since the system prompt was written. They now read:";

export interface PromptOptions {
  /** Keeps the frozen prompt; null keeps it in memory. */
  readonly promptStore: PromptStore | null;
  /** Puts prompts in one order with those of other objects for the same session. */
  readonly promptOrder?: PromptOrder | undefined;
}

/** The system prompt of one session: rendered from its blocks, then the same until it is rendered anew. */
export class SessionPrompt {
  #frozen: FrozenPrompt;
  #estimate = new PromptEstimate();

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
    const blocks = this.#calling(live, async () => sendableBlocks(valuesOf(await readBlocks(live))));
    // Told in its order, below.
    blocks.catch(() => {});
    return this.#frozen.refresh(async () => inPieces(renderedPrompt(await blocks)));
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
   * Tells what changed, since the prompt was frozen, in the blocks with `whenChanged: "remind"`: a text for the end of the
   * latest user message. Null when nothing did, or nothing is frozen.
   */
  async reminder(): Promise<string | null> {
    const asked = ask(this.blocks.all.filter(({ config }) => config.whenChanged === "remind"));
    const frozen = await this.#frozen.read();
    const blocks = frozen === null ? [] : valuesOf(await this.#answers(asked, true));
    await this.blocks.settle();
    if (frozen === null) return null;
    const shown = await inPieces(contentsOf(frozen));
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

  /** The prompt for an estimate where nobody has to be asked for it; null otherwise. */
  get atHand(): string | null {
    return this.#frozen.atHand;
  }

  /** The blocks for an estimate, but for those whose provider fails. */
  estimatedBlocks(): Promise<ContextBlock[]> {
    return this.#estimate.blocks(this.blocks.all);
  }

  /** The blocks as they are now, read anew. */
  async present(): Promise<PresentBlocks> {
    const call = this.#frozen.begin();
    return new PresentBlocks(await this.#answers(ask(this.blocks.all), true), call);
  }

  /** The prompt that these blocks make, as it would be stored. Errors: of a block that could not be read, what its read failed with. */
  async renderingOf(present: PresentBlocks): Promise<string> {
    return this.#frozen.stored(await inPieces(renderedPrompt(present.assertAll())));
  }

  /**
   * Stores what `renderingOf` gave in place of what was frozen, unless it was rendered anew since these blocks were read. Where a
   * store of ours keeps it, `write` is to make the write of it together with the caller's own; elsewhere it is passed none.
   */
  replace(prompt: string, { call }: PresentBlocks, write: PromptWriter): Promise<void> {
    return this.#frozen.replace(call, prompt, write);
  }

  async #render(asked: AskedBlocks | null, anew = false): Promise<string> {
    return inPieces(renderedPrompt(valuesOf(await this.#answers(asked ?? ask(this.blocks.all), anew))));
  }

  #answers(asked: AskedBlocks, anew: boolean): Promise<PromiseSettledResult<ContextBlock>[]> {
    return this.#calling(asked.blocks, async () => sendableBlocks(await answers(asked, anew)));
  }

  #calling<T>(blocks: readonly LiveBlock[], call: () => Promise<T>): Promise<T> {
    return blocks.every(({ order }) => order.isOwn) ? call() : this.#frozen.calling(call);
  }
}

/** Makes a write of a prompt, null for none, together with others. */
type PromptWriter = (write: BlockWrite | null) => Promise<void>;

/** Blocks as they were read, and which call for a prompt read them. */
export class PresentBlocks {
  /** Those that could be read. */
  readonly blocks: readonly ContextBlock[];

  constructor(
    private readonly found: readonly Result[],
    readonly call: number,
  ) {
    this.blocks = found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  }

  /** Throws what the first of them failed with that could not be read. */
  assertAll(): readonly ContextBlock[] {
    return valuesOf(this.found);
  }
}

// What the host's providers hold is taken as the prompt shows it.
async function adopt(prompt: string, { own, others }: AskedBlocks): Promise<void> {
  if (others.length > 0) {
    const shown = await inPieces(contentsOf(prompt));
    for (const { block } of others) block.assume(shown.get(block.folded) ?? "");
  }
  valuesOf(await own);
}

/** Blocks, or how their reads ended, as a request can hold them. */
const sendableBlocks = <T>(found: readonly T[]): Promise<T[]> => inPieces(mapped(found, (each) => sendable(each)));

type Result = PromiseSettledResult<ContextBlock>;

/** Blocks whose content was asked for, or will be once the writes before are done. */
interface AskedBlocks {
  readonly blocks: readonly LiveBlock[];
  /** How the reads of our own ended. */
  readonly own: Promise<readonly Result[]>;
  readonly others: readonly { readonly block: LiveBlock; readonly earlier: Promise<void> | null }[];
}

/** Asks our own providers now. Those of the host's are asked when it comes to that, after the writes called before now. */
function ask(blocks: readonly LiveBlock[]): AskedBlocks {
  const isOwn = ({ order }: LiveBlock) => order.isOwn;
  const others = blocks.filter((block) => !isOwn(block));
  return {
    blocks,
    own: readBlocks(blocks.filter(isOwn)),
    others: others.map((block) => ({ block, earlier: block.order.earlier() })),
  };
}

/** The results of reads, in order. With `anew`, the host's providers are asked for what is known already too. */
async function answers({ blocks, own, others }: AskedBlocks, anew: boolean): Promise<Result[]> {
  const calls = others.map(async ({ block, earlier }) => {
    if (earlier !== null) await earlier;
    return anew || !block.loaded ? block.read() : block.snapshot();
  });
  const [ours, theirs] = await Promise.all([own, Promise.allSettled(calls)]);
  const [nextOfOurs, nextOfTheirs] = [ours.values(), theirs.values()];
  return blocks.map(({ order }) => (order.isOwn ? nextOfOurs : nextOfTheirs).next().value as Result);
}

interface Preview {
  readonly block: LiveBlock;
  /** Null when it cannot be read. */
  readonly text: string | null;
}

/** Renders a prompt for an estimate. It never fails, and leaves blocks that were not read yet as they are. */
class PromptEstimate {
  #of: readonly Preview[] = [];
  #prompt = "";

  /** Costs next to nothing while the blocks do not change. */
  async prompt(blocks: readonly LiveBlock[]): Promise<string> {
    const previews = await previewsOf(blocks);
    if (!isSame(previews, this.#of)) {
      this.#of = previews;
      this.#prompt = await inPieces(renderedPrompt(shown(previews)));
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

/** How errors name the provider that keeps the prompt. */
const NAME = "cached prompt";

/** Keeps the frozen prompt of a session. */
export interface PromptStore extends WritableContextProvider {
  /** Missing where a prompt that is taken back is written as "". */
  drop?(): Promise<void>;
  /** The prompt as it would be stored. Default: as it is. */
  stored?(prompt: string): string;
  /** The write that `set` makes of it, for the session's store. Missing where it is kept elsewhere. */
  writeOf?(prompt: string): BlockWrite;
}

/** The calls on a prompt's store. A provider of the host's is made ready first, and runs as a callback. */
class PromptKeeper {
  readonly #ready: () => Promise<void>;

  constructor(
    private readonly store: PromptStore,
    private readonly calling: <T>(callback: () => Promise<T>) => Promise<T>,
  ) {
    this.#ready = once(() => callProvider(NAME, "init", () => store.init?.("prompt")));
  }

  /** True for a store of ours, which is asked at once, and answers. */
  get isOurs(): boolean {
    return this.store.drop !== undefined;
  }

  /** The prompt as it would be stored. Errors: `REDACTION_FAILED`. */
  stored(prompt: string): string {
    return this.store.stored?.(prompt) ?? prompt;
  }

  get(): Promise<string | null> {
    return this.#asking(() => readProvider(NAME, "get", () => this.store.get()));
  }

  async set(prompt: string, options?: WriteOptions): Promise<void> {
    const set = () => (options ? this.store.set(prompt, options) : this.store.set(prompt));
    await this.#asking(() => callProvider(NAME, "set", set));
  }

  /** Stores it with `write`, or by itself where that cannot. */
  async replace(prompt: string, write: PromptWriter): Promise<void> {
    const own = this.store.writeOf?.(prompt) ?? null;
    if (own === null) await this.set(prompt);
    await write(own);
  }

  async drop(): Promise<void> {
    if (this.store.drop) await this.store.drop();
    else await this.set("");
  }

  #asking<T>(call: () => Promise<T>): Promise<T> {
    if (this.isOurs) return call();
    return this.calling(async () => {
      await this.#ready();
      return call();
    });
  }
}

/** The order of calls on one prompt, whichever objects make them. */
interface PromptOrder {
  readonly queue: Queue;
  readonly key: string;
}

type Render = () => Promise<string>;

/** Gives what `work` gives; fails when that takes too long. */
type TimeLimit = <T>(work: Promise<T>) => Promise<T>;

/**
 * The frozen system prompt: kept by a provider, or in memory when there is none. Calls run one after another; one that
 * may come from within a provider, while a rendering asks it, runs at once.
 */
class FrozenPrompt {
  readonly #keeper: PromptKeeper | null;
  readonly #order: PromptOrder;
  #known: string | null = null;
  #asked = false;
  #answer: string | null = null;
  #calls = 0;
  /** The latest call whose rendering counts: of an earlier one it is not written any more. */
  #latest = 0;

  constructor(store: PromptStore | null, order?: PromptOrder) {
    this.#keeper = store === null ? null : new PromptKeeper(store, (call) => this.calling(call));
    this.#order = order ?? { queue: queueOf(store ?? this), key: "prompt" };
  }

  /** The prompt as last read or written by this object; null before that. */
  get known(): string | null {
    return this.#known;
  }

  /**
   * The prompt for an estimate: as this object last saw it, or as the store gave it when it was first asked. Null when
   * nothing was frozen by then. Asks once, never fails, and waits for nobody: it may be a provider that calls.
   */
  async seen(): Promise<string | null> {
    if (this.#known === null && !this.#asked) {
      this.#asked = true;
      try {
        this.#answer = (await this.#stored()) || null;
      } catch {
        // Whoever needs the prompt itself is told.
      }
    }
    return this.atHand;
  }

  /** The prompt for an estimate without asking; null also where nobody has asked yet. */
  get atHand(): string | null {
    return this.#known ?? this.#answer;
  }

  /** True where the prompt may be frozen though this object does not know of it. */
  get isKept(): boolean {
    return this.#keeper !== null;
  }

  /** A call that reads now what it will render: another one that begins later is the later one. */
  begin(): number {
    return ++this.#calls;
  }

  /** The prompt as it would be stored. Errors: `REDACTION_FAILED`. */
  stored(rendered: string): string {
    return this.#keeper?.stored(rendered) ?? rendered;
  }

  /** Stores the prompt of a call, as `SessionPrompt.replace` does. */
  replace(call: number, prompt: string, write: PromptWriter): Promise<void> {
    return this.#inOrder(async () => {
      if (call < this.#latest) return write(null);
      this.#latest = call;
      await (this.#keeper?.replace(prompt, write) ?? write(null));
      this.#known = prompt;
    });
  }

  /** The stored prompt; null when nothing is frozen. */
  read(): Promise<string | null> {
    return this.#inOrder(() => this.#read());
  }

  /** The stored prompt, or else what `render` makes, stored. */
  freeze(render: Render): Promise<{ prompt: string; rendered: boolean }> {
    const call = this.begin();
    return this.#inOrder(async () => {
      const stored = await this.#read();
      if (stored !== null) return { prompt: stored, rendered: false };
      const latest = this.#latest;
      const prompt = await render();
      if (this.#latest !== latest && this.#known !== null) return { prompt: this.#known, rendered: true };
      try {
        return { prompt: await this.#write(call, prompt, { expectedVersion: 0 }), rendered: true };
      } catch (error) {
        // Another process froze its own rendering meanwhile: there is one prompt, the stored one.
        const winner = StemmaError.isInstance(error, "BLOCK_CONFLICT") ? await this.#stored() : null;
        if (winner === null) throw error;
        this.#known = winner;
        return { prompt: winner, rendered: true };
      }
    });
  }

  /** Stores what `render` makes in place of what was frozen. */
  refresh(render: Render): Promise<string> {
    const call = this.begin();
    return this.#inOrder(async () => this.#write(call, await render()));
  }

  /**
   * Stores what `render` makes if a prompt is frozen, or was and `cleared` dropped it. Where it cannot be rendered in time,
   * nothing is frozen any more.
   */
  renew(cleared: Promise<boolean>, render: Render, limit: TimeLimit): Promise<void> {
    const call = this.begin();
    // Told below, in its turn.
    cleared.catch(() => {});
    return this.#inOrder(async () => {
      const dropped = await cleared;
      this.#latest = Math.max(this.#latest, call);
      this.#answer = null;
      const isOurs = this.#keeper?.isOurs === true;
      // A store of ours answers, and is to be waited for.
      const stored: TimeLimit = (work) => (isOurs ? work : limit(work));
      try {
        if ((await stored(this.#read())) === null && !(dropped && isOurs)) return;
        const prompt = await limit(render());
        await stored(this.#write(call, prompt));
      } catch {
        this.#known = null;
        if (this.#keeper !== null) await stored(this.#keeper.drop());
      }
    });
  }

  /** Ends it: what calls until now render is not written any more. */
  revoke(): void {
    this.#latest = this.begin();
    this.#known = null;
  }

  /** Runs callbacks of the host for a rendering. */
  calling<T>(callbacks: () => Promise<T>): Promise<T> {
    const { queue, key } = this.#order;
    return hostCallsOf(queue).run(key, callbacks);
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const { queue, key } = this.#order;
    return hostCallsOf(queue).mayBeCalling(key) ? work() : queue.write(key, work);
  }

  async #read(): Promise<string | null> {
    const stored = await this.#stored();
    // A provider may answer "" for "nothing yet". Of our own, which can hold an empty prompt, #write finds out.
    if (stored === "" && this.#known !== "") return null;
    this.#known = stored;
    return stored;
  }

  async #stored(): Promise<string | null> {
    return this.#keeper === null ? this.#known : this.#keeper.get();
  }

  async #write(call: number, rendered: string, options?: WriteOptions): Promise<string> {
    const prompt = this.stored(rendered);
    if (call < this.#latest) return prompt;
    this.#latest = call;
    await this.#keeper?.set(prompt, options);
    this.#known = prompt;
    return prompt;
  }
}
