import type { Before, Page } from "./backlog.js";

/** How many sessions are looked at together. */
const AT_ONCE = 16;

/**
 * The sessions to look at for new messages: those that this store wrote to, and those that a scan finds. A scan reads all
 * sessions, page by page: at the start, when asked for, and when the last one is `every` milliseconds past, since others
 * write too. So what an append causes does not grow with the number of sessions.
 */
export class ScanQueue {
  readonly #written = new Set<string>();
  /** The last to be looked at first. */
  readonly #open = new Set<string>();
  /** The scan has the sessions before it that were registered before this one; null when there is none under way. */
  #before: Before | null = null;
  /** When the next scan begins. */
  #due = 0;

  constructor(private readonly every: number) {}

  add(sessionId: string): void {
    this.#written.add(sessionId);
  }

  /** Has a scan begin, anew if one is under way. */
  scan(): void {
    this.#due = 0;
  }

  /** The session before which to read a page of the scan; null while there are enough to look at, and when no scan is due. */
  nextPage(): Before | null {
    if (performance.now() >= this.#due) {
      this.#before = { registered: Number.MAX_SAFE_INTEGER, id: "" };
      this.#due = Number.POSITIVE_INFINITY;
    }
    const isEnough = this.#written.size + this.#open.size >= AT_ONCE;
    return isEnough ? null : this.#before;
  }

  addPage({ sessions, before }: Page): void {
    for (const id of sessions.toReversed()) this.#open.add(id);
    this.#before = before;
    if (before === null) this.#due = Math.min(this.#due, performance.now() + this.every);
  }

  /** The sessions to look at now, the last written first. They stay until `remove`. */
  next(): string[] {
    for (const id of this.#written) {
      this.#open.delete(id);
      this.#open.add(id);
    }
    this.#written.clear();
    return [...this.#open].slice(-AT_ONCE).reverse();
  }

  /** Takes off sessions in which nothing was new; one that was written to since is looked at again. */
  remove(sessionIds: readonly string[]): void {
    for (const id of sessionIds) this.#open.delete(id);
  }

  get isEmpty(): boolean {
    return this.#written.size + this.#open.size === 0 && this.#before === null;
  }
}
