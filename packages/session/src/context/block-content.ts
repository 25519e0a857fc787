import { StemmaError } from "@stemma/model";

/** What a provider told of a block: its content, with the version where it keeps versions. */
export interface Reading {
  readonly text: string;
  readonly version?: number | undefined;
}

/** The content as shown, and when the call that brought it started and ended, on the block's own clock. */
interface Shown extends Reading {
  readonly started: number;
  readonly arrived: number;
  readonly wrote: boolean;
}

/** What is known of a block's content: of reads and writes that overlap and end out of order, the latest. */
export class BlockContent {
  #shown: Shown | null = null;
  #failure: unknown = null;
  #clock = 0;

  /** True once the provider has told the content, and has not failed to since. */
  get loaded(): boolean {
    return this.#shown !== null && this.#shown.arrived > 0 && this.#failure === null;
  }

  /** True once there is a content to show, or an error that says why there is none. */
  get tried(): boolean {
    return this.#shown !== null || this.#failure !== null;
  }

  /** Null when there has been no good read. */
  get text(): string | null {
    return this.#shown?.text ?? null;
  }

  /** Throws what the read threw when there has been no good one, and `CONTEXT_NOT_LOADED` when there was none. */
  get(): Reading {
    if (this.#shown !== null) return this.#shown;
    throw this.#failure ?? notLoaded();
  }

  /** Notes that a call starts. Gives what `take` needs to know of it. */
  start(): number {
    return ++this.#clock;
  }

  // Of two calls that overlapped, the higher version is the later one; without versions a write counts more than a read, and a
  // read that started later more than one that started earlier.
  take(started: number, { text, version }: Reading, wrote = false): void {
    const shown = this.#shown;
    this.#failure = null;
    if (shown && started <= shown.arrived) {
      const versioned = version !== undefined || shown.version !== undefined;
      const outdated = versioned
        ? (version ?? 0) <= (shown.version ?? 0)
        : !wrote && (shown.wrote || started < shown.started);
      if (outdated) return;
    }
    this.#shown = { text, version, started, arrived: ++this.#clock, wrote };
  }

  /** Takes `text` for the content until the next read, where nothing is known. */
  assume(text: string): void {
    this.#shown ??= { text, started: 0, arrived: 0, wrote: false };
  }

  /** Notes that a read failed. What was read before is still shown. */
  fail(error: unknown): void {
    this.#failure = error;
  }

  /** Drops what is shown: it is out of date. */
  forget(): void {
    this.#shown = null;
  }
}

export function notLoaded(): StemmaError {
  const message =
    "The context has not been read yet. Await an asynchronous call first, such as freezeSystemPrompt() or tools().";
  return new StemmaError("CONTEXT_NOT_LOADED", {}, message);
}
