import { type Deferred, defer, yieldIfDue } from "@stemma/model";

/** What comes bit by bit. Whoever reads it reads it from the start, and nobody holds it up. */
export class Feed<Item> {
  readonly #items: Item[] = [];
  #more: Deferred = defer();
  #end: { readonly error?: unknown } | null = null;

  push(items: readonly Item[]): void {
    for (const item of items) this.#items.push(item);
    this.#wake();
  }

  close(): void {
    this.#end ??= {};
    this.#wake();
  }

  /** Whoever reads it fails with this error, once it has what came before. */
  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** All that came and will come, without what `select` gives null for. `left` is called when the reader goes before the end. */
  stream<Given>(select: (item: Item) => Given | null, left?: () => void): ReadableStream<Given> {
    let next = 0;
    return new ReadableStream({
      pull: async (controller) => {
        // Many readers get each piece, one after the other.
        await yieldIfDue();
        for (;;) {
          if (next < this.#items.length) {
            const given = select(this.#items[next] as Item);
            next += 1;
            if (given !== null) return controller.enqueue(given);
          } else if (this.#end === null) await this.#more.promise;
          else if ("error" in this.#end) throw this.#end.error;
          else return controller.close();
        }
      },
      cancel: () => left?.(),
    });
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = defer();
  }
}
