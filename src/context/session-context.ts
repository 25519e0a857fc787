import { StemmaError } from "../errors.js";
import type { ContextAccess, SkillLog, ToolBlock, ToolEntry, WriteAction } from "../tools/access.js";
import { createContextTools } from "../tools/registry.js";
import type { SessionTools } from "../tools/tool.js";
import { assertBlockOptions, type ContextBlock, type ContextBlockOptions, type ContextConfig } from "./block.js";
import { listsKey, loadEntry, searchEntries, writeEntry } from "./entries.js";
import { FrozenPrompt } from "./frozen-prompt.js";
import { assertNewLabel, foldLabel } from "./label.js";
import { LiveBlock, notLoaded } from "./live-block.js";
import { parsePrompt, renderBlock, renderPrompt } from "./prompt.js";
import type { WritableContextProvider, WriteOptions } from "./provider.js";
import { enqueue } from "./provider-call.js";
import { AgentSearchProvider } from "./providers/agent-search.js";
import { StoreContextProvider } from "./providers/store-context.js";

export interface SessionContextOptions {
  configs: readonly ContextConfig[];
  /** Makes the provider of a block that names none; null where there is no store to keep one in. */
  wire: ((label: string) => WritableContextProvider) | null;
  /** Keeps the frozen prompt; null keeps it in memory. */
  promptStore: WritableContextProvider | null;
  skills: SkillLog | null;
  /** Providers of blocks that have `forSession` are bound to it. */
  sessionId: string;
}

/**
 * The context of one session: its blocks, its system prompt and its generated tools. Labels are matched without regard
 * to case. A provider that throws fails the calls that need it, with `PROVIDER_FAILED`, and no others.
 */
export class SessionContext implements ContextAccess {
  readonly skills: SkillLog | null;
  readonly #blocks = new Map<string, LiveBlock>();
  readonly #prompt: FrozenPrompt;
  readonly #wire: SessionContextOptions["wire"];
  readonly #sessionId: string;
  #estimated: Estimated = { blocks: [], prompt: "" };

  /** Errors: `INVALID_LABEL`, `DUPLICATE_LABEL`, `INVALID_ARGUMENT`, `PROVIDER_REQUIRED`. */
  constructor(options: SessionContextOptions) {
    this.skills = options.skills;
    this.#wire = options.wire;
    this.#sessionId = options.sessionId;
    this.#prompt = new FrozenPrompt(options.promptStore);
    for (const config of options.configs) {
      assertNewLabel(config.label, this.#labels());
      const block = this.#build(config);
      this.#blocks.set(block.folded, block);
    }
  }

  /** Reads every block that has not been read yet. */
  async load(): Promise<void> {
    await readAll([...this.#blocks.values()].filter((block) => !block.loaded));
  }

  /**
   * Adds a block at the end and reads it. The frozen prompt stays as it is. Errors: those of the constructor, and
   * `PROVIDER_FAILED`; then no block was added.
   */
  async add(label: string, options: ContextBlockOptions = {}): Promise<ContextBlock> {
    return enqueue(this, async () => {
      assertNewLabel(label, this.#labels());
      const block = this.#build({ ...options, label });
      await this.#settle();
      await block.read();
      this.#blocks.set(block.folded, block);
      return block.snapshot();
    });
  }

  /** Takes a block out of the session; what its provider holds stays. False when there is none. */
  remove(label: string): boolean {
    this.#assertTried();
    return this.#blocks.delete(foldLabel(label));
  }

  /** The block as last read; null when there is none. Errors: `CONTEXT_NOT_LOADED`, `PROVIDER_FAILED` of the last read. */
  block(label: string): ContextBlock | null {
    this.#assertTried();
    return this.#blocks.get(foldLabel(label))?.snapshot() ?? null;
  }

  /** All blocks as last read, in the order they were added. Errors as for `block`. */
  blocks(): ContextBlock[] {
    this.#assertTried();
    return [...this.#blocks.values()].map((block) => block.snapshot());
  }

  /**
   * Replaces the content of a block without keys. The frozen prompt stays as it is. Errors: `BLOCK_NOT_FOUND`,
   * `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `BLOCK_CONFLICT`, `INVALID_TEXT`, `PROVIDER_FAILED`; then nothing was changed.
   */
  async replace(label: string, content: string, options: WriteOptions = {}): Promise<ContextBlock> {
    const block = this.#find(label);
    await this.#settle();
    await block.replace(content, options);
    return block.snapshot();
  }

  /** Adds `text` to the end of a block without keys, on a new line (see `appendText`). Concurrent appends are all kept. Errors as for `replace`. */
  async append(label: string, text: string): Promise<ContextBlock> {
    const block = this.#find(label);
    await this.#settle();
    await block.append(text);
    return block.snapshot();
  }

  /** The frozen system prompt. The first call, of whatever process, reads the blocks, renders them and stores the result. */
  async freezePrompt(): Promise<string> {
    const { prompt, rendered } = await this.#prompt.freeze(async () => {
      await this.load();
      return renderPrompt(this.blocks());
    });
    if (!rendered) await this.#adopt(prompt);
    return prompt;
  }

  /** Reads every block anew, renders the prompt and stores it as the frozen one; with `store`, that does. */
  refreshPrompt(store?: (prompt: string) => Promise<void>): Promise<string> {
    return this.#prompt.refresh(async () => {
      await readAll([...this.#blocks.values()]);
      return renderPrompt(this.blocks());
    }, store);
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

  /** The blocks for an estimate, but for those whose provider fails. */
  async estimatedBlocks(): Promise<ContextBlock[]> {
    return shown(await this.#previews());
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
    const frozen = await this.#prompt.read();
    const reminding = frozen === null ? [] : [...this.#blocks.values()].filter((block) => block.reminds);
    await readAll(reminding);
    await this.#settle();
    if (frozen === null || reminding.length === 0) return null;
    const shown = new Map(parsePrompt(frozen).map((block) => [block.label, block.content]));
    const changed = reminding
      .map((block) => block.snapshot())
      .filter((block) => block.content !== (shown.get(foldLabel(block.label)) ?? ""));
    if (changed.length === 0) return null;
    return [REMINDER, ...changed.map(renderBlock)].join("\n\n");
  }

  /** The tools that the present blocks call for. */
  async tools(): Promise<SessionTools> {
    await this.#settle();
    return createContextTools(this);
  }

  toolBlocks(): ToolBlock[] {
    return [...this.#blocks.values()].map((block) => block.describe());
  }

  toolBlock(label: string): ToolBlock {
    return this.#find(label).describe();
  }

  write(label: string, content: string, action: WriteAction): Promise<ContextBlock> {
    return action === "append" ? this.append(label, content) : this.replace(label, content);
  }

  /** Errors: `BLOCK_NOT_FOUND`, `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `INVALID_ARGUMENT`, `INVALID_TEXT`, `PROVIDER_FAILED`. */
  async writeEntry(label: string, entry: ToolEntry, action: WriteAction): Promise<void> {
    const block = this.#find(label);
    await writeEntry(block, entry, action);
    await block.readAfterWrite();
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

  #labels(): string[] {
    return [...this.#blocks.values()].map((block) => block.label);
  }

  #build(config: ContextConfig): LiveBlock {
    assertBlockOptions(config.label, config);
    const provider = config.provider ?? this.#wire?.(config.label);
    if (!provider) {
      throw new StemmaError(
        "PROVIDER_REQUIRED",
        { label: config.label },
        `Block "${config.label}" needs a provider: this session's storage has no place for context blocks.`,
      );
    }
    return new LiveBlock(config, provider.forSession?.(this.#sessionId) ?? provider);
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
  async #settle(): Promise<void> {
    const unknown = [...this.#blocks.values()].filter((block) => !block.tried);
    for (const result of await Promise.allSettled(unknown.map((block) => block.read()))) {
      if (result.status === "rejected" && !StemmaError.isInstance(result.reason, "PROVIDER_FAILED"))
        throw result.reason;
    }
  }

  // A frozen prompt spares reading from the providers. Blocks that are kept in our own stores are read nevertheless, as
  // the model may have written them since; the others are taken as the prompt shows them.
  async #adopt(prompt: string): Promise<void> {
    const pending = [...this.#blocks.values()].filter((block) => !block.loaded);
    if (pending.length === 0) return;
    const shown = new Map(parsePrompt(prompt).map((block) => [block.label, block.content]));
    const own = pending.filter((block) => isOwn(block));
    for (const block of pending) if (!isOwn(block)) block.assume(shown.get(block.folded) ?? "");
    await readAll(own);
  }

  #assertTried(): void {
    for (const block of this.#blocks.values()) if (!block.tried) throw notLoaded();
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

function isOwn({ provider }: LiveBlock): boolean {
  return provider instanceof StoreContextProvider || provider instanceof AgentSearchProvider;
}

// Waits for all of them, so that no read goes on behind a failed call.
async function readAll(blocks: readonly LiveBlock[]): Promise<void> {
  const results = await Promise.allSettled(blocks.map((block) => block.read()));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
