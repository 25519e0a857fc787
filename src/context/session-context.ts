// One class: blocks, prompt and tools read and write the same blocks, in one order.
import { invalid, StemmaError } from "../errors.js";
import { foldLabel } from "../model/fold-label.js";
import type { BlockScope, StoredVersion } from "../storage/contract.js";
import type { ConflictingBlock, ContextAccess, SkillLog, ToolBlock, ToolEntry, WriteAction } from "../tools/access.js";
import type { SessionTools, ToolCallOptions } from "../tools/tool.js";
import { approvedContent } from "./approval.js";
import { assertBlockOptions, type ContextBlock, type ContextBlockOptions, type ContextConfig } from "./block.js";
import { notLoaded } from "./block-content.js";
import { BlockWrites } from "./block-writes.js";
import { listsKey, loadEntry, searchEntries } from "./entries.js";
import { FrozenPrompt, type PromptOrder, type PromptStore, type TimeLimit } from "./frozen-prompt.js";
import { assertNewLabel } from "./label.js";
import { LiveBlock } from "./live-block.js";
import { parsePrompt, renderBlock, renderPrompt } from "./prompt.js";
import type { WritableContextProvider, WriteOptions } from "./provider.js";
import { findVersion, versionsOf } from "./versions.js";

export interface SessionContextOptions {
  configs: readonly ContextConfig[];
  /** Makes the provider of a block that names none; null where there is no store to keep one in. */
  wire: ((label: string, scope: BlockScope | undefined) => WritableContextProvider) | null;
  /** Keeps the frozen prompt; null keeps it in memory. */
  promptStore: PromptStore | null;
  /** What other objects for the same session order their prompts with. */
  promptOrder?: PromptOrder | undefined;
  /** Providers of the host's are not called unless it resolves. */
  open?: (() => Promise<void>) | undefined;
  skills: SkillLog | null;
  /** Providers of blocks that have `forSession` are bound to it. */
  sessionId: string;
  /** Those that have `forUser` are bound to this; absent in a session that is confined to nobody. */
  userId?: string | undefined;
}

export type ToolAnswerListener = (folded: string, content: string, isAdded?: boolean) => void;

/**
 * The context of one session: its blocks, its system prompt and its generated tools. Labels are matched without regard
 * to case. A provider that throws fails the calls that need it, with `PROVIDER_FAILED`, and no others.
 */
export class SessionContext implements ContextAccess {
  readonly skills: SkillLog | null;
  readonly #writes: BlockWrites;
  /** The blocks as the prompt was last rendered from them. */
  #rendered: readonly ContextBlock[] = [];
  readonly #options: SessionContextOptions;
  readonly #blocks = new Map<string, LiveBlock>();
  #prompt: FrozenPrompt;
  #estimated: Estimated = { blocks: [], prompt: "" };
  /** Blocks that are being added. */
  readonly #added = new Set<LiveBlock>();
  #told: ToolAnswerListener = () => {};

  /** Errors: `INVALID_LABEL`, `DUPLICATE_LABEL`, `INVALID_ARGUMENT`, `PROVIDER_REQUIRED`. */
  constructor(options: SessionContextOptions) {
    this.#options = options;
    this.#writes = new BlockWrites(options.sessionId);
    this.skills = options.skills;
    this.#prompt = new FrozenPrompt(options.promptStore, options.promptOrder);
    this.#addConfigured();
  }

  /** Begins anew, as if nothing had been read, frozen, added or removed. What is being rendered is not frozen any more. */
  reset(): void {
    this.#prompt.revoke();
    this.#blocks.clear();
    this.#added.clear();
    this.#estimated = { blocks: [], prompt: "" };
    this.#writes.shown.clear();
    this.#rendered = [];
    this.#prompt = new FrozenPrompt(this.#options.promptStore, this.#options.promptOrder);
    this.#addConfigured();
  }

  /** Reads every block that has not been read yet. */
  async load(): Promise<void> {
    await all([...this.#blocks.values()].filter((block) => !block.loaded).map((block) => block.read()));
  }

  /**
   * Adds a block at the end and reads it. The frozen prompt stays as it is. Errors: those of the constructor, and
   * `PROVIDER_FAILED`; then no block was added.
   */
  async add(label: string, options: ContextBlockOptions = {}): Promise<ContextBlock> {
    assertNewLabel(label, this.#labels());
    const block = this.#build({ ...options, label });
    this.#blocks.set(block.folded, block);
    this.#added.add(block);
    try {
      return await this.#settling(block.read());
    } catch (error) {
      if (this.#blocks.get(block.folded) === block) this.#blocks.delete(block.folded);
      throw error;
    } finally {
      this.#added.delete(block);
    }
  }

  /** Takes a block out of the session; what its provider holds stays. False when there is none. */
  remove(label: string): boolean {
    this.#assertTried();
    return this.#blocks.delete(foldLabel(label));
  }

  /** The block as last read; null when there is none. Errors: `CONTEXT_NOT_LOADED`, `PROVIDER_FAILED` of the last read. */
  block(label: string): ContextBlock | null {
    this.#assertTried();
    const block = this.#blocks.get(foldLabel(label));
    return block === undefined || this.#added.has(block) ? null : block.snapshot();
  }

  /** The block as its provider holds it now; null when there is none. Errors: `PROVIDER_FAILED`. */
  async read(label: string): Promise<ContextBlock | null> {
    const block = this.#blocks.get(foldLabel(label));
    if (block !== undefined) return this.#settling(block.read(), block);
    await this.#settle();
    return null;
  }

  /** All blocks as last read, in the order they were added. Errors as for `block`. */
  blocks(): ContextBlock[] {
    this.#assertTried();
    return this.#shown().map((block) => block.snapshot());
  }

  /**
   * Replaces the content of a block without keys. The frozen prompt stays as it is. Errors: `BLOCK_NOT_FOUND`,
   * `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `BLOCK_CONFLICT`, `INVALID_TEXT`, `PROVIDER_FAILED`; then nothing was changed.
   */
  async replace(label: string, content: string, options: WriteOptions = {}): Promise<ContextBlock> {
    return this.#settling(this.#writes.replace(this.#find(label), content, options));
  }

  /** Adds `text` to the end of a block without keys, on a new line (see `appendText`). Concurrent appends are all kept. Errors as for `replace`. */
  async append(label: string, text: string): Promise<ContextBlock> {
    return this.#settling(this.#writes.append(this.#find(label), text));
  }

  /** The versions that are kept of a block, or of the entry `key`, the newest first. Errors: `BLOCK_NOT_FOUND`, `INVALID_ARGUMENT`, `PROVIDER_FAILED`. */
  async versions(label: string, key: string | undefined): Promise<StoredVersion[]> {
    return this.#settling(versionsOf(this.#find(label), key));
  }

  /** Writes an earlier version anew; gives the block as it is then. Errors: those of `versions` and `replace`, `VERSION_NOT_FOUND`. */
  async restore(label: string, version: number, key: string | undefined): Promise<ContextBlock> {
    const block = this.#find(label);
    const content = await this.#settling(findVersion(block, version, key));
    return this.#writes.restore(block, content, key);
  }

  /**
   * Notes what a turn shows: `blocks`, or what the prompt was just rendered from. Of the blocks that are `untold` it shows an
   * earlier text, the one in `seen`.
   */
  async show(
    messageId: string | null | undefined,
    blocks: readonly ContextBlock[] | null,
    untold: readonly ContextBlock[],
    seen: ReadonlyMap<string, string>,
  ): Promise<void> {
    const shown = (blocks ?? this.#rendered).flatMap(({ label, version = 0 }) => {
      const block = this.#blocks.get(foldLabel(label));
      return block === undefined ? [] : [{ block, version }];
    });
    const earlier = new Map(untold.map(({ label }) => [foldLabel(label), seen.get(foldLabel(label)) ?? ""]));
    await this.#writes.show({ messageId, blocks: shown, earlier });
  }

  /** Notes the message of the user that the model answers, until a turn says so. */
  answers(messageId: string): void {
    this.#writes.shown.messageId = messageId;
  }

  /** The frozen system prompt. The first call, of whatever process, reads the blocks, renders them and stores the result. */
  async freezePrompt(): Promise<string> {
    // A frozen prompt spares reading from the host's providers; ours are read in any case, as the model may have written
    // them since.
    const blocks = this.#prompt.known === null ? this.#ask([...this.#blocks.values()]) : null;
    const { prompt, rendered } = await this.#prompt.freeze(() => this.#render(blocks));
    if (!rendered) await this.#adopt(prompt, blocks);
    return prompt;
  }

  /** Reads every block anew, renders the prompt and stores it as the frozen one. */
  refreshPrompt(): Promise<string> {
    const blocks = this.#readAll([...this.#blocks.values()]);
    return this.#prompt.refresh(async () => {
      this.#rendered = await blocks;
      return renderPrompt(this.#rendered);
    });
  }

  /**
   * Renders the prompt anew when `cleared` is done, if one is frozen or it dropped one. Where a provider fails or exceeds
   * `limit`, nothing is frozen any more.
   */
  renewPrompt(cleared: Promise<boolean>, limit: TimeLimit): Promise<void> {
    const mayBeFrozen = this.#prompt.known !== null || this.#prompt.isKept;
    const blocks = mayBeFrozen ? this.#ask([...this.#blocks.values()]) : null;
    return this.#prompt.renew(cleared, () => this.#render(blocks, true), limit);
  }

  /**
   * The prompt for an estimate: the frozen one, or what the blocks would make of it. Costs next to nothing while neither
   * changes. Never fails, and leaves blocks that were not read yet as they are.
   */
  async estimatedPrompt(): Promise<string> {
    const frozen = await this.#prompt.seen();
    if (frozen !== null) return frozen;
    const blocks = await this.#previews();
    if (!sameBlocks(blocks, this.#estimated.blocks)) {
      this.#estimated = { blocks, prompt: renderPrompt(shown(blocks)) };
    }
    return this.#estimated.prompt;
  }

  /** The same where nobody has to be asked for it; null otherwise. */
  get promptAtHand(): string | null {
    return this.#prompt.atHand;
  }

  /** The blocks for an estimate, but for those whose provider fails. */
  async estimatedBlocks(): Promise<ContextBlock[]> {
    return shown(await this.#previews());
  }

  /** The blocks as they are now, read anew, but for those whose provider fails. */
  async presentBlocks(): Promise<ContextBlock[]> {
    const asked = this.#ask([...this.#blocks.values()]);
    const answers = await Promise.allSettled(asked.map((one) => this.#answers([one], true)));
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  }

  /** The frozen prompt, read from where it is kept when this process has not seen it yet. */
  async knownPrompt(): Promise<string | null> {
    return this.#prompt.known ?? this.#prompt.read();
  }

  /**
   * What changed, since the prompt was frozen, in the blocks with `whenChanged: "remind"`: a text for the end of the
   * latest user message. Null when nothing did, or nothing is frozen.
   */
  async reminder(): Promise<string | null> {
    const reminding = [...this.#blocks.values()].filter((block) => block.reminds);
    const asked = this.#ask(reminding);
    const frozen = await this.#prompt.read();
    const blocks = frozen === null ? [] : await this.#answers(asked, true);
    await this.#settle();
    if (frozen === null || blocks.length === 0) return null;
    const shown = new Map(parsePrompt(frozen).map((block) => [block.label, block.content]));
    const changed = blocks.filter((block) => block.content !== (shown.get(foldLabel(block.label)) ?? ""));
    if (changed.length === 0) return null;
    return [REMINDER, ...changed.map(renderBlock)].join("\n\n");
  }

  /** The tools that the blocks call for that are there at the time of the call, less those of which the first read failed. */
  async tools(): Promise<SessionTools> {
    const asked = this.liveBlocks();
    await this.#settle();
    const present = asked.filter((block) => this.#blocks.get(block.folded) === block).map((b) => b.describeForTools());
    const { createContextTools } = await import("../tools/registry.js");
    return createContextTools(present, this);
  }

  /** The blocks themselves, in their order. */
  liveBlocks(): readonly LiveBlock[] {
    return [...this.#blocks.values()];
  }

  /** The present blocks as tools know them, in their order. */
  toolBlocks(): ToolBlock[] {
    return [...this.#blocks.values()].map((block) => block.describeForTools());
  }

  toolBlock(label: string): ToolBlock {
    return this.#find(label).describeForTools();
  }

  async write(
    label: string,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<ContextBlock | ConflictingBlock> {
    const block = this.#find(label);
    const text = block.approve === undefined ? content : await this.#approved(block, null, content, action, call);
    const written = await this.#settling(this.#writes.byModel(block, text, action, call));
    if ("present" in written) this.#told(block.folded, written.present);
    else if (action === "append") this.#told(block.folded, text, true);
    else this.#told(block.folded, written.content);
    return written;
  }

  /** Calls `listener` with what a tool tells the model of a block: its content, or what was added at its end. */
  onToolAnswer(listener: ToolAnswerListener): void {
    this.#told = listener;
  }

  /** Applies a JSON Merge Patch to a block with a schema. Errors: those of `replace`, `BLOCK_INVALID`. */
  async patch(label: string, patch: unknown): Promise<ContextBlock> {
    return this.#settling(this.#writes.patch(this.#find(label), patch));
  }

  /** What a block with a schema holds now; null while it is empty. Errors: `BLOCK_NOT_FOUND`, `BLOCK_INVALID`, `INVALID_ARGUMENT`. */
  async value(label: string): Promise<object | null> {
    const block = this.#find(label);
    const { document } = block;
    if (document === null) {
      throw invalid(`"${label}" has no schema: give it one, or read its text with readContextBlock().`, { label });
    }
    return document.read((await this.#settling(block.read(), block)).content);
  }

  /** Errors: `BLOCK_NOT_FOUND`, `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `INVALID_ARGUMENT`, `INVALID_TEXT`, `PROVIDER_FAILED`. */
  async writeEntry(label: string, entry: ToolEntry, action: WriteAction, call: ToolCallOptions = {}): Promise<void> {
    const block = this.#find(label);
    const { key, content } = entry;
    const text = block.approve === undefined ? content : await this.#approved(block, key, content, action, call);
    await this.#writes.entryByModel(block, { ...entry, content: text }, action, call);
    await block.readAfterWrite();
    if (block.text !== null) this.#told(block.folded, block.text);
  }

  async #approved(
    block: LiveBlock,
    key: string | null,
    content: string,
    action: WriteAction,
    { toolCallId }: ToolCallOptions,
  ): Promise<string> {
    if (typeof block.approve !== "function") return content;
    const present = key === null ? (await this.#settling(block.read(), block)).content : null;
    const { sessionId, shown } = this.#writes;
    const write = {
      ...{ label: block.label, key, action, content, present },
      ...{ sessionId, messageId: shown.messageId, toolCallId: toolCallId ?? null },
    };
    return approvedContent(block.approve, write);
  }

  lists(label: string, key: string): boolean {
    return listsKey(this.#find(label).text ?? "", key);
  }

  async loadEntry(label: string, key: string): Promise<string | null> {
    return loadEntry(this.#find(label), key);
  }

  async searchEntries(label: string, query: string): Promise<string | null> {
    return searchEntries(this.#find(label), query);
  }

  async #previews(): Promise<Preview[]> {
    const blocks = [...this.#blocks.values()];
    return Promise.all(blocks.map(async (block) => ({ block, text: await block.preview() })));
  }

  #addConfigured(): void {
    for (const config of this.#options.configs) {
      assertNewLabel(config.label, this.#labels());
      const block = this.#build(config);
      this.#blocks.set(block.folded, block);
    }
  }

  #labels(): string[] {
    return [...this.#blocks.values()].map((block) => block.label);
  }

  #build(config: ContextConfig): LiveBlock {
    assertBlockOptions(config.label, config);
    const { wire, sessionId, userId, open = async () => {} } = this.#options;
    const provider = config.provider ?? wire?.(config.label, config.scope);
    if (!provider) {
      const message = `Block "${config.label}" needs a provider: this session's storage has no place for context blocks.`;
      throw new StemmaError("PROVIDER_REQUIRED", { label: config.label }, message);
    }
    const bound = provider.forSession?.(sessionId) ?? provider;
    return new LiveBlock(config, userId === undefined ? bound : (bound.forUser?.(userId) ?? bound), open);
  }

  #find(label: string): LiveBlock {
    const block = this.#blocks.get(foldLabel(label));
    if (block) return block;
    const labels = this.#labels();
    const present = labels.length === 0 ? "There are no blocks." : `The blocks are: ${labels.join(", ")}.`;
    throw new StemmaError("BLOCK_NOT_FOUND", { label, labels }, `No block has the label "${label}". ${present}`);
  }

  // Reads the blocks of which nothing is known. A provider that fails does not fail calls that do without it: its block
  // keeps the error, and throws it where its content is asked for.
  async #settle(except?: LiveBlock): Promise<void> {
    const unknown = this.#shown().filter((block) => !block.tried && block !== except);
    for (const result of await Promise.allSettled(unknown.map((block) => block.read()))) {
      if (result.status === "rejected" && !StemmaError.isInstance(result.reason, "PROVIDER_FAILED"))
        throw result.reason;
    }
  }

  // A call is handed over before what else is not known yet is read.
  async #settling<T>(call: Promise<T>, reads?: LiveBlock): Promise<T> {
    const [done, settled] = await Promise.allSettled([call, this.#settle(reads)]);
    if (done.status === "rejected") throw done.reason;
    if (settled.status === "rejected") throw settled.reason;
    return done.value;
  }

  // Asks our own providers now. Those of the host's are asked when it comes to that, after the writes called before now.
  #ask(blocks: readonly LiveBlock[]): readonly Asked[] {
    return blocks.map((block) => {
      if (!block.turns.isOwn) return { block, content: null, turn: block.turns.turn() };
      const content = block.read();
      // Told to whoever needs the content.
      content.catch(() => {});
      return { block, content, turn: null };
    });
  }

  // With `anew`, the host's providers are asked for what is known already too.
  #answers(asked: readonly Asked[], anew: boolean): Promise<ContextBlock[]> {
    const answer = async ({ block, content, turn }: Asked) => {
      if (content !== null) return content;
      if (turn !== null) await turn;
      return anew || !block.loaded ? block.read() : block.snapshot();
    };
    return this.#calling(asked, () => all(asked.map(answer)));
  }

  async #render(asked: readonly Asked[] | null, anew = false): Promise<string> {
    return renderPrompt(await this.#answers(asked ?? this.#ask([...this.#blocks.values()]), anew));
  }

  #readAll(blocks: readonly LiveBlock[]): Promise<ContextBlock[]> {
    const read = this.#calling(
      blocks.map((block) => ({ block })),
      () => all(blocks.map((block) => block.read())),
    );
    read.catch(() => {});
    return read;
  }

  #calling<T>(asked: readonly { readonly block: LiveBlock }[], call: () => Promise<T>): Promise<T> {
    return asked.every(({ block }) => block.turns.isOwn) ? call() : this.#prompt.calling(call);
  }

  // What the host's providers hold is taken as the prompt shows it.
  async #adopt(prompt: string, asked: readonly Asked[] | null): Promise<void> {
    if (asked === null) return;
    const shown = new Map(parsePrompt(prompt).map((block) => [block.label, block.content]));
    for (const { block } of asked) if (!block.turns.isOwn) block.assume(shown.get(block.folded) ?? "");
    await all(asked.flatMap(({ content }) => content ?? []));
  }

  #shown(): LiveBlock[] {
    return [...this.#blocks.values()].filter((block) => !this.#added.has(block));
  }

  #assertTried(): void {
    for (const block of this.#shown()) if (!block.tried) throw notLoaded();
  }
}

interface Preview {
  readonly block: LiveBlock;
  /** Null when it cannot be read. */
  readonly text: string | null;
}

interface Estimated {
  readonly blocks: readonly Preview[];
  readonly prompt: string;
}

function sameBlocks(some: readonly Preview[], others: readonly Preview[]): boolean {
  if (some.length !== others.length) return false;
  return some.every(({ block, text }, index) => block === others[index]?.block && text === others[index]?.text);
}

function shown(previews: readonly Preview[]): ContextBlock[] {
  return previews.flatMap(({ block, text }) => {
    if (text === null) return [];
    return [block.text === text ? block.snapshot() : block.showing(text)];
  });
}

const REMINDER = "These context blocks have changed since the system prompt was written. They now read:";

/** A block whose content was asked for, or will be once `turn` has come. */
interface Asked {
  readonly block: LiveBlock;
  readonly content: Promise<ContextBlock> | null;
  readonly turn: Promise<void> | null;
}

// Waits for all of them, so that no read goes on behind a failed call.
async function all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(calls);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
