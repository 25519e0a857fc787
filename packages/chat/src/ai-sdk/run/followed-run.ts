import { yieldIfDue } from "@stemma/model";
import { isUnderWay, type RunState } from "@stemma/session";
import type { UIMessageChunk } from "ai";
import { Feed } from "./feed.js";
import type { RunLog } from "./log.js";

/** How often the answer of another process is looked at while it goes on, in milliseconds. */
const POLL = 100;
/** How often while nothing comes, after a while. */
const SLOWEST_POLL = 1_000;
/** For each run that a process follows at once its looks are so many milliseconds further apart: it makes 500 a second at most. */
const SHARE = 2;

/**
 * The answer of a run of another process, from its start until it ends. Its readers share what is read of the store, and nothing
 * is read when the last of them has gone.
 */
export class FollowedRun {
  readonly #feed = new Feed<UIMessageChunk>();
  #readers = 0;
  #after: string | undefined;
  #poll = POLL;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `latest` gives the latest run of the session; the run is in `followed`, by its id, while somebody reads it. */
  constructor(
    readonly id: string,
    private readonly log: RunLog,
    private readonly latest: () => Promise<RunState | null>,
    private readonly followed: Map<string, FollowedRun>,
  ) {}

  stream(): ReadableStream<UIMessageChunk> {
    this.#readers += 1;
    if (this.#readers === 1) {
      this.followed.set(this.id, this);
      void this.#look();
    }
    return this.#feed.stream(
      (chunk) => chunk,
      () => {
        this.#readers -= 1;
        if (this.#readers === 0) this.#end();
      },
    );
  }

  async #look(): Promise<void> {
    // Many runs are looked at at once.
    await yieldIfDue();
    try {
      if (await this.#readChunks()) this.#poll = POLL;
      else {
        const state = await this.latest();
        const isLatest = state?.runId === this.id;
        if (!isLatest || !isUnderWay(state)) {
          // What it wrote last is there when it has ended.
          await this.#readChunks();
          if (isLatest && state.status === "interrupted") this.#feed.push([INTERRUPTED]);
          this.#feed.close();
          return this.#end();
        }
        this.#poll = Math.min(this.#poll * 1.5, SLOWEST_POLL);
      }
      if (this.#readers === 0) return;
      this.#timer = setTimeout(() => void this.#look(), Math.max(this.#poll, SHARE * this.followed.size));
    } catch (error) {
      this.#feed.fail(error);
      this.#end();
    }
  }

  // What is new. False when nothing is.
  async #readChunks(): Promise<boolean> {
    for (let isNew = false; ; isNew = true) {
      const batches = await this.log.chunks(this.id, this.#after);
      if (batches.length === 0) return isNew;
      this.#after = batches.at(-1)?.key;
      for (const { chunks } of batches) this.#feed.push(chunks);
      if (!this.log.isPage(batches)) return true;
    }
  }

  #end(): void {
    clearTimeout(this.#timer);
    if (this.followed.get(this.id) === this) this.followed.delete(this.id);
  }
}

const INTERRUPTED: UIMessageChunk = {
  type: "error",
  errorText: "The answer was interrupted: the server that wrote it has gone. Ask for it again to continue it.",
};
