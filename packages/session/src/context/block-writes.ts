import { StemmaError } from "@stemma/model";
import type { WriteOrigin } from "@stemma/store";
import type { ConflictingBlock, ToolCallOptions, ToolEntry, WriteAction } from "../tools/tool.js";
import type { ContextBlock } from "./block.js";
import { addText, patchText, replaceText } from "./block-text.js";
import { writeEntry } from "./entries.js";
import type { LiveBlock } from "./live-block.js";
import { isVersioned, type WriteOptions } from "./provider.js";
import { restoreVersion, versionsOf } from "./versions.js";
/** What a turn shows of the blocks. */
export interface ShownTurn {
  /** The message of the user that is to be answered; undefined for the same as before. */
  readonly messageId: string | null | undefined;
  /** The blocks, as their text is shown. */
  readonly blocks: readonly { readonly block: LiveBlock; readonly version: number }[];
  /** Of these blocks, by the folded label, it shows an earlier text: this one. */
  readonly earlier: ReadonlyMap<string, string>;
}

/** The writes of one session to its blocks: each says whose it is, and the model replaces only what it was shown. */
export class BlockWrites {
  readonly shown = new ShownBlocks();

  constructor(readonly sessionId: string) {}

  replace(block: LiveBlock, content: string, options: WriteOptions): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => replaceText(block, content, { origin, ...options }));
  }

  append(block: LiveBlock, text: string): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => addText(block, text, { origin }));
  }

  patch(block: LiveBlock, patch: unknown): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => patchText(block, patch, { origin }));
  }

  /** Writes what an earlier version said, of a block or of the entry `key`. */
  restore(block: LiveBlock, content: string | null, key: string | undefined): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => restoreVersion(block, content, key, { origin }));
  }

  /** What a tool writes to a block without keys. */
  async byModel(
    block: LiveBlock,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<ContextBlock | ConflictingBlock> {
    const origin = this.#origin("model", call);
    const { document, folded } = block;
    if (action === "append") return this.shown.writing(folded, () => addText(block, content, { origin }));
    if (document === null) return this.#replaceShown(block, content, origin);
    const patch = document.parsePatch(content);
    return this.shown.writing(folded, () => patchText(block, patch, { origin }));
  }

  /** What a tool writes to an entry. */
  entryByModel(block: LiveBlock, entry: ToolEntry, action: WriteAction, call: ToolCallOptions): Promise<void> {
    return writeEntry(block, entry, action, { origin: this.#origin("model", call) });
  }

  /** Notes what a turn shows. */
  async show({ messageId, blocks, earlier }: ShownTurn): Promise<void> {
    if (messageId !== undefined) this.shown.messageId = messageId;
    for (const { block, version } of blocks) {
      if (!isVersioned(block.provider)) continue;
      const text = earlier.get(block.folded);
      const isKnown = text === undefined || (await this.#isOwnSince(block, version, text));
      this.shown.show(block.folded, isKnown ? version : OUTDATED);
    }
  }

  async #replaceShown(
    block: LiveBlock,
    content: string,
    origin: WriteOrigin,
  ): Promise<ContextBlock | ConflictingBlock> {
    try {
      return await this.shown.writing(block.folded, (expectedVersion) =>
        replaceText(block, content, { origin, ...(expectedVersion !== undefined && { expectedVersion }) }),
      );
    } catch (error) {
      if (!StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
      // A write of this session that came before it was refused, so that there is one version less.
      if (this.shown.known(block.folded) === error.details.version) return this.#replaceShown(block, content, origin);
      const present = await block.read();
      this.shown.show(block.folded, present.version ?? 0);
      return { present: present.content };
    }
  }

  // What this session's model and program wrote since stands in the conversation, or is known there.
  async #isOwnSince(block: LiveBlock, version: number, text: string): Promise<boolean> {
    if (this.shown.known(block.folded) === version) return true;
    try {
      for (const each of await versionsOf(block, undefined)) {
        if (each.content === text) return true;
        const isOwn = each.sessionId === this.sessionId && each.author !== "learning";
        if (!isOwn) return false;
        if (each.version === 1) return text === "";
      }
    } catch {
      // A provider without a history tells nothing.
    }
    return false;
  }

  #origin(author: "model" | "program", { toolCallId }: ToolCallOptions = {}): WriteOrigin {
    const { messageId } = this.shown;
    const messageIds = author === "model" && messageId !== null ? [messageId] : [];
    return { author, sessionId: this.sessionId, messageIds, toolCallId };
  }
}

/** Stands for a version that is no more: whoever expects it is told of a conflict. */
const OUTDATED = -1;

interface Shown {
  /** The version that the model knows. */
  version: number;
  /** Writes of this session that are under way, each of which will make one more. */
  pending: number;
}

/**
 * What the model was shown: the message that it answers, and the version of each block, by the folded label. What the
 * session itself writes since, the model or the program, counts as shown. Empty until a turn was prepared.
 */
class ShownBlocks {
  /** The message of the user that the model answers; null before there is one. */
  messageId: string | null = null;
  readonly #blocks = new Map<string, Shown>();

  show(folded: string, version: number): void {
    const shown = this.#blocks.get(folded);
    if (shown === undefined) this.#blocks.set(folded, { version, pending: 0 });
    else shown.version = version;
  }

  /** The version that the model knows; undefined for what no turn has shown. */
  known(folded: string): number | undefined {
    return this.#blocks.get(folded)?.version;
  }

  clear(): void {
    this.#blocks.clear();
    this.messageId = null;
  }

  /** Runs a write of this session's. It is given the version that the block has if nobody else wrote. */
  async writing(
    folded: string,
    write: (expectedVersion: number | undefined) => Promise<ContextBlock>,
  ): Promise<ContextBlock> {
    const shown = this.#blocks.get(folded);
    if (shown === undefined) return write(undefined);
    const expected = shown.version === OUTDATED ? OUTDATED : shown.version + shown.pending;
    shown.pending += 1;
    try {
      const written = await write(expected);
      // Whatever else was written in between, the model does not know.
      if (written.version === shown.version + 1) shown.version += 1;
      return written;
    } finally {
      shown.pending -= 1;
    }
  }
}
