import type { UIMessageChunk } from "ai";

type Delta = Extract<UIMessageChunk, { readonly type: "text-delta" | "reasoning-delta" }>;

/**
 * The chunks of an answer as they are stored where texts are redacted: a text is one chunk once it has ended, so that a secret
 * in it is never in two. What a later chunk tells whole is left out: pieces of a tool's input, and preliminary outputs.
 */
export class FinishedParts {
  /** The texts that have not ended, by their kind and id. */
  readonly #open = new Map<string, Delta>();

  /** The chunks that can be stored now. */
  take(chunk: UIMessageChunk): UIMessageChunk[] {
    switch (chunk.type) {
      case "text-delta":
      case "reasoning-delta":
        this.#add(chunk);
        return [];
      case "text-end":
        return [...this.#end(`text-delta ${chunk.id}`), chunk];
      case "reasoning-end":
        return [...this.#end(`reasoning-delta ${chunk.id}`), chunk];
      case "tool-input-delta":
        return [];
      case "tool-output-available":
        return chunk.preliminary === true ? [] : [chunk];
      // Nothing is added to a text of an earlier step.
      case "finish-step":
      case "finish":
        return [...this.rest(), chunk];
      default:
        return [chunk];
    }
  }

  /** The texts that nothing more is added to, though they were not ended. */
  rest(): UIMessageChunk[] {
    const rest = [...this.#open.values()];
    this.#open.clear();
    return rest;
  }

  #add(chunk: Delta): void {
    const key = `${chunk.type} ${chunk.id}`;
    const before = this.#open.get(key);
    // What a provider adds to a piece stands for all before it.
    this.#open.set(key, before === undefined ? chunk : { ...before, ...chunk, delta: before.delta + chunk.delta });
  }

  #end(key: string): UIMessageChunk[] {
    const text = this.#open.get(key);
    this.#open.delete(key);
    return text === undefined ? [] : [text];
  }
}
