import type { ConflictingBlock, ContextAccess, SkillLog, ToolBlock, ToolEntry, WriteAction } from "../tools/access.js";
import type { ToolCallOptions } from "../tools/tool.js";
import { approvedContent } from "./approval.js";
import type { ContextBlock } from "./block.js";
import type { BlockSet } from "./block-set.js";
import type { BlockWrites } from "./block-writes.js";
import { listsKey, loadEntry, searchEntries } from "./entries.js";
import type { LiveBlock } from "./live-block.js";

export type ToolAnswerListener = (folded: string, content: string, isAdded?: boolean) => void;

/** What the model's tools do with the blocks: its writes are approved where a block asks for that, and told to a listener. */
export class ToolAccess implements ContextAccess {
  #told: ToolAnswerListener = () => {};

  constructor(
    private readonly blocks: BlockSet,
    private readonly writes: BlockWrites,
    readonly skills: SkillLog | null,
  ) {}

  /** Calls `listener` with what a tool tells the model of a block: its content, or what was added at its end. */
  onAnswer(listener: ToolAnswerListener): void {
    this.#told = listener;
  }

  toolBlock(label: string): ToolBlock {
    return this.blocks.find(label).describeForTools();
  }

  async write(
    label: string,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<ContextBlock | ConflictingBlock> {
    const block = this.blocks.find(label);
    const text =
      block.config.approve === undefined ? content : await this.#approved(block, null, content, action, call);
    const written = await this.blocks.settling(this.writes.byModel(block, text, action, call));
    if ("present" in written) this.#told(block.folded, written.present);
    else if (action === "append") this.#told(block.folded, text, true);
    else this.#told(block.folded, written.content);
    return written;
  }

  /** Errors: `BLOCK_NOT_FOUND`, `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `INVALID_ARGUMENT`, `INVALID_TEXT`, `PROVIDER_FAILED`. */
  async writeEntry(label: string, entry: ToolEntry, action: WriteAction, call: ToolCallOptions = {}): Promise<void> {
    const block = this.blocks.find(label);
    const { key, content } = entry;
    const text = block.config.approve === undefined ? content : await this.#approved(block, key, content, action, call);
    await this.writes.entryByModel(block, { ...entry, content: text }, action, call);
    await block.readAfterWrite();
    if (block.text !== null) this.#told(block.folded, block.text);
  }

  lists(label: string, key: string): boolean {
    return listsKey(this.blocks.find(label).text ?? "", key);
  }

  async loadEntry(label: string, key: string): Promise<string | null> {
    return loadEntry(this.blocks.find(label), key);
  }

  async searchEntries(label: string, query: string): Promise<string | null> {
    return searchEntries(this.blocks.find(label), query);
  }

  async #approved(
    block: LiveBlock,
    key: string | null,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<string> {
    const { approve, label } = block.config;
    if (typeof approve !== "function") return content;
    const present = key === null ? (await this.blocks.settling(block.read(), block)).content : null;
    const { sessionId, shown } = this.writes;
    const asked = { messageId: shown.messageId, toolCallId: call.toolCallId ?? null };
    return approvedContent(approve, { label, key, action, content, present, sessionId, ...asked });
  }
}
