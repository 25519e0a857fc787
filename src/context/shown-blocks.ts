import type { ContextBlock } from "./block.js";

/** Stands for a version that is no more: whoever expects it is told of a conflict. */
export const OUTDATED = -1;

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
export class ShownBlocks {
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
