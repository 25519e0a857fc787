import { foldLabel, inPieces, invalid, mapped } from "@stemma/model";
import type { StoredVersion } from "@stemma/store";
import { createContextTools } from "../tools/registry.js";
import type { SearchTimes } from "../tools/times.js";
import type {
  ConflictingBlock,
  ContextAccess,
  SessionTools,
  SkillLog,
  ToolBlock,
  ToolCallOptions,
  ToolEntry,
  WriteAction,
  WrittenEntry,
} from "../tools/tool.js";
import { approvedContent } from "./approval.js";
import type { ContextBlock } from "./block.js";
import { BlockSet, type BlockSetOptions } from "./block-set.js";
import {
  BlockWrites,
  type EntryName,
  entryToWrite,
  findVersion,
  keyNamed,
  loadEntry,
  type ShownBlocks,
  searchEntries,
  timesOfEntry,
  versionsOf,
} from "./block-writes.js";
import type { LiveBlock } from "./live-block.js";
import type { WriteOptions } from "./provider.js";
import { type PromptOptions, SessionPrompt } from "./session-prompt.js";
export interface SessionContextOptions extends BlockSetOptions, PromptOptions {
  readonly skills: SkillLog | null;
}

/**
 * The context of one session: its blocks, its system prompt and its generated tools, which read and write the same blocks
 * in one order. A provider that throws fails the calls that need it, with `PROVIDER_FAILED`, and no others.
 */
export class SessionContext {
  /** The blocks themselves. */
  readonly live: BlockSet;
  readonly prompt: SessionPrompt;
  readonly access: ToolAccess;
  /** The state that the model was shown. */
  readonly shown: ShownBlocks;
  readonly #writes: BlockWrites;

  /** Errors: `INVALID_LABEL`, `DUPLICATE_LABEL`, `INVALID_ARGUMENT`, `PROVIDER_REQUIRED`. */
  constructor(options: SessionContextOptions) {
    this.live = new BlockSet(options);
    this.#writes = new BlockWrites(options.sessionId);
    this.shown = this.#writes.shown;
    this.prompt = new SessionPrompt(this.live, options);
    this.access = new ToolAccess(this.live, this.#writes, options.skills);
  }

  /** Begins anew, as if nothing had been read, frozen, added or removed. */
  reset(): void {
    this.prompt.reset();
    this.live.reset();
    this.shown.clear();
  }

  /** The block as last read; null when there is none. Errors: `CONTEXT_NOT_LOADED`, `PROVIDER_FAILED` of the last read. */
  block(label: string): ContextBlock | null {
    const folded = foldLabel(label);
    return (
      this.live
        .shown()
        .find((block) => block.folded === folded)
        ?.snapshot() ?? null
    );
  }

  /** All blocks as last read, in the order they were added. Errors as for `block`. */
  blocks(): ContextBlock[] {
    return this.live.shown().map((block) => block.snapshot());
  }

  /** The block as its provider holds it now; null when there is none. Errors: `PROVIDER_FAILED`. */
  async read(label: string): Promise<ContextBlock | null> {
    const block = this.live.get(label);
    if (block !== undefined) return this.live.settling(block.read(), block);
    await this.live.settle();
    return null;
  }

  /**
   * Replaces the content of a block without keys. The frozen prompt stays as it is. Errors: `BLOCK_NOT_FOUND`,
   * `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `BLOCK_CONFLICT`, `INVALID_TEXT`, `PROVIDER_FAILED`; then nothing was changed.
   */
  async replace(label: string, content: string, options: WriteOptions = {}): Promise<ContextBlock> {
    return this.live.settling(this.#writes.replace(this.live.find(label), content, options));
  }

  /** Adds `text` to the end of a block without keys, on a new line (see `appendText`). Concurrent appends are all kept. Errors as for `replace`. */
  async append(label: string, text: string): Promise<ContextBlock> {
    return this.live.settling(this.#writes.append(this.live.find(label), text));
  }

  /** Applies a JSON Merge Patch to a block with a schema. Errors: those of `replace`, `BLOCK_INVALID`. */
  async patch(label: string, patch: unknown): Promise<ContextBlock> {
    return this.live.settling(this.#writes.patch(this.live.find(label), patch));
  }

  /** Reads the value of a block with a schema; null while it is empty. Errors: `BLOCK_NOT_FOUND`, `BLOCK_INVALID`, `INVALID_ARGUMENT`. */
  async value(label: string): Promise<object | null> {
    const block = this.live.find(label);
    const { document } = block;
    if (document === null) {
      throw invalid(`"${label}" has no schema: give it one, or read its text with readContextBlock().`, { label });
    }
    return document.read((await this.live.settling(block.read(), block)).content);
  }

  /** The versions that are kept of a block, or of an entry, the newest first. Errors: `BLOCK_NOT_FOUND`, `INVALID_ARGUMENT`, `PROVIDER_FAILED`. */
  async versions(label: string, entry: EntryName): Promise<StoredVersion[]> {
    return this.live.settling(versionsOf(this.live.find(label), entry));
  }

  /** Writes an earlier version anew; gives the block as it is then. Errors: those of `versions` and `replace`, `VERSION_NOT_FOUND`. */
  async restore(label: string, version: number, entry: EntryName): Promise<ContextBlock> {
    const block = this.live.find(label);
    const found = await this.live.settling(findVersion(block, version, entry));
    return this.#writes.restore(block, found, entry);
  }

  /**
   * Notes what a turn shows. Of the blocks that are `untold` it shows an earlier text, the one in `seen`.
   */
  async show(
    messageId: string | null | undefined,
    blocks: readonly ContextBlock[],
    untold: readonly ContextBlock[],
    seen: ReadonlyMap<string, string>,
  ): Promise<void> {
    const shown = blocks.flatMap(({ label, version = 0 }) => {
      const block = this.live.get(label);
      return block === undefined ? [] : [{ block, version }];
    });
    const earlier = new Map(untold.map(({ label }) => [foldLabel(label), seen.get(foldLabel(label)) ?? ""]));
    await this.#writes.show({ messageId, blocks: shown, earlier });
  }

  /** The tools that the blocks call for that are there at the time of the call, less those of which the first read failed. */
  async tools(): Promise<SessionTools> {
    const asked = this.live.all;
    await this.live.settle();
    const present = asked.filter((block) => this.live.has(block));
    return createContextTools(await inPieces(mapped(present, (block) => block.describeForTools())), this.access);
  }
}

type ToolAnswerListener = (folded: string, content: string, isAdded?: boolean) => void;

/** The blocks for the model's tools: its writes are approved where a block asks for that, and told to a listener. */
class ToolAccess implements ContextAccess {
  #listener: ToolAnswerListener = () => {};

  constructor(
    private readonly blocks: BlockSet,
    private readonly writes: BlockWrites,
    readonly skills: SkillLog | null,
  ) {}

  /** Calls `listener` with what a tool tells the model of a block: its content, or what was added at its end. */
  onAnswer(listener: ToolAnswerListener): void {
    this.#listener = listener;
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
    if ("present" in written) this.#listener(block.folded, written.present);
    else if (action === "append") this.#listener(block.folded, text, true);
    else this.#listener(block.folded, written.content);
    return written;
  }

  /** Errors: `BLOCK_NOT_FOUND`, `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `INVALID_ARGUMENT`, `INVALID_TEXT`, `PROVIDER_FAILED`. */
  async writeEntry(
    label: string,
    given: ToolEntry,
    action: WriteAction,
    call: ToolCallOptions = {},
  ): Promise<WrittenEntry> {
    const block = this.blocks.find(label);
    const entry = await entryToWrite(block, given);
    const { content, scope } = entry;
    const text =
      block.config.approve === undefined ? content : await this.#approved(block, entry, content, action, call);
    const before = await timesOfEntry(block, entry);
    await this.writes.entryByModel(block, { ...entry, content: text }, action, call);
    await block.readAfterWrite();
    if (block.text !== null) this.#listener(block.folded, block.text);
    return { scope, before, times: await timesOfEntry(block, entry) };
  }

  async keyOf(label: string, title: string, scope: string | undefined): Promise<string> {
    return keyNamed(this.blocks.find(label), title, scope);
  }

  async loadEntry(label: string, key: string): Promise<string | null> {
    return loadEntry(this.blocks.find(label), key);
  }

  async searchEntries(label: string, query: string, times: SearchTimes): Promise<string | null> {
    return searchEntries(this.blocks.find(label), query, times);
  }

  async #approved(
    block: LiveBlock,
    entry: ToolEntry | null,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<string> {
    const { approve, label } = block.config;
    if (typeof approve !== "function") return content;
    const { key = null, scope = null, fact = {} } = entry ?? {};
    const present = key === null ? (await this.blocks.settling(block.read(), block)).content : null;
    const { sessionId, shown } = this.writes;
    const asked = { messageId: shown.messageId, toolCallId: call.toolCallId ?? null };
    return approvedContent(approve, { label, key, scope, fact, action, content, present, sessionId, ...asked });
  }
}
