import type { UIMessageChunk } from "ai";
import { defer } from "../../deferred.js";
import type { RunState } from "../../session/run-record.js";
import { Feed } from "./feed.js";

/**
 * Why a run was broken off: the user stopped it, another process took it over, or the chat was deleted. Nothing more may be
 * written for one that is lost or deleted.
 */
export type BrokenOff = "stopped" | "lost" | "deleted";

interface SentChunk {
  readonly chunk: UIMessageChunk;
  /** It repeats what the client that continues an answer has already. */
  readonly isBase: boolean;
}

/** A run of this process. Whoever reads its answer reads it from the start, and nobody holds it up. */
export class LiveRun {
  state: RunState;
  readonly #chunks = new Feed<SentChunk>();
  readonly #abort = new AbortController();
  readonly #ended = defer();
  /** Null while it is not. */
  brokenOff: BrokenOff | null = null;
  isOver = false;

  constructor(state: RunState) {
    this.state = state;
  }

  get id(): string {
    return this.state.runId;
  }

  /** Nothing more may be written for it. */
  get isLost(): boolean {
    return this.brokenOff === "lost" || this.brokenOff === "deleted";
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settled once the answer is stored and the run has let go of the session. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  breakOff(reason: BrokenOff): void {
    // One that was stopped may be lost before it has ended.
    if (!this.isLost) this.brokenOff = reason;
    this.#abort.abort();
  }

  push(chunk: UIMessageChunk, isBase = false): void {
    this.#chunks.push([{ chunk, isBase }]);
  }

  end(): void {
    this.isOver = true;
    this.#chunks.close();
    this.#ended.resolve();
  }

  /** All chunks, those to come included; without those that a client `holds` that continues an answer. */
  stream(holds = false): ReadableStream<UIMessageChunk> {
    return this.#chunks.stream(({ chunk, isBase }) => (holds && isBase ? null : chunk));
  }
}
