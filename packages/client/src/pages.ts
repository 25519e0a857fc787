import { refusalOf } from "./answers.js";

/** A page of a list, as the server gives it. */
export interface Page<Item> {
  readonly data: readonly Item[];
  /** For the next page; null at the end. */
  readonly nextCursor: string | null;
}

/**
 * A list that is read page by page: `for await` gives all its items, `await` one page, whose `nextCursor` is the `cursor`
 * of the next call. Nothing is sent before. `More` is what a page has beside its items.
 */
export class Pages<Item, More extends object = object> implements AsyncIterable<Item>, PromiseLike<Page<Item> & More> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item> & More>;

  constructor(read: (cursor: string | undefined) => Promise<Page<Item> & More>) {
    this.#read = read;
  }

  /** Reads all items, page after page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (let cursor: string | undefined; ; ) {
      const { data, nextCursor } = await this.#page(cursor);
      for (const item of data) yield item;
      if (nextCursor === null) return;
      // It would be the same page for ever.
      if (nextCursor === cursor) throw refusalOf();
      cursor = nextCursor;
    }
  }

  /** Reads the first page. */
  // biome-ignore lint/suspicious/noThenProperty: as lists of other clients, it is awaited for a page.
  then<A = Page<Item> & More, B = never>(
    onPage?: ((page: Page<Item> & More) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#page(undefined).then(onPage, onError);
  }

  async #page(cursor: string | undefined): Promise<Page<Item> & More> {
    const page = await this.#read(cursor);
    if (Array.isArray(page.data) && (page.nextCursor === null || typeof page.nextCursor === "string")) return page;
    throw refusalOf();
  }
}
