import type { Node } from "./layout.js";

/** Knows the newest leaf below each message, of messages that come newest first. */
export class NewestLeaf {
  readonly #leaves = new Map<string, string>();

  add(nodes: readonly Node[]): void {
    for (const { id, parentId } of nodes) {
      // A message that nothing newer leads to is a leaf; its line of parents is new up to where another line joined.
      const leaf = this.#leaves.get(id) ?? id;
      this.#leaves.set(id, leaf);
      if (parentId !== null && !this.#leaves.has(parentId)) this.#leaves.set(parentId, leaf);
    }
  }

  /** The newest message below one, or itself; null where the message did not come yet. */
  below(id: string): string | null {
    return this.#leaves.get(id) ?? null;
  }
}
