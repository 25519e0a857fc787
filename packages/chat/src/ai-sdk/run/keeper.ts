import { StemmaError, yieldIfDue } from "@stemma/model";
import type { RunState, RunStatus } from "@stemma/session";
import type { UIMessageChunk } from "ai";
import type { RunHold, WriteRun } from "./hold.js";
import type { LiveRun, RunLog } from "./log.js";

/** How often a run writes what it has and looks whether it was stopped, in milliseconds. */
const TICK = 200;
/** For each run that a process keeps at once its ticks are so many milliseconds further apart: it makes 250 a second at most. */
const SHARE = 4;
/** A tick takes a quarter of the time at most, so that a store that is far away is not always asked. */
const TRIPS = 4;

/** How long a run is kept whose answer nobody has begun, in milliseconds. */
const UNANSWERED = 60_000;

let keepers = 0;

/** Keeps other processes informed of a run: writes its chunks, renews its lease, and breaks it off when they say so. */
export class RunKeeper {
  #batch: UIMessageChunk[] = [];
  /** A batch that is not known to be written. */
  #sent: UIMessageChunk[] = [];
  #batches = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ticking: Promise<void> = Promise.resolve();
  #isOver = false;
  #isBegun = false;
  readonly #claimedAt = performance.now();
  /** Null where chunks are stored as they come. */
  readonly #finished: FinishedParts | null;

  constructor(
    private readonly log: RunLog,
    private readonly run: LiveRun,
    private readonly hold: RunHold,
    isRedacted: boolean,
    /** How long a call to the store took, in milliseconds. */
    private trip: number,
  ) {
    this.#finished = isRedacted ? new FinishedParts() : null;
    keepers += 1;
    this.#schedule();
  }

  /** The answer begins: from now on the run is kept until its end. */
  begin(): void {
    this.#isBegun = true;
  }

  push(chunk: UIMessageChunk): void {
    if (this.#finished === null) addToBatch(this.#batch, chunk);
    else this.#batch.push(...this.#finished.take(chunk));
  }

  /** Makes writes of the run. Errors: `RUN_LOST`, and those of the writes. */
  readonly write: WriteRun = (writes) => this.#own(() => this.hold.write(writes));

  /** Looks whether the run is still this process's. Errors: `RUN_LOST`. */
  async assertHeld(): Promise<void> {
    await this.#own(() => this.hold.look());
  }

  /** Says what is answered, where it is not what the run was taken for. Errors: `RUN_LOST`. */
  async update({ questionId, answerId, leafBefore }: Answered): Promise<void> {
    const { state } = this.run;
    if (state.questionId === questionId && state.answerId === answerId && state.leafBefore === leafBefore) return;
    await this.#own(() => this.hold.change({ questionId, answerId, leafBefore }));
    this.run.state = this.hold.state;
  }

  /** Writes the last chunks and how the run ended, unless it is lost. */
  async end(status: RunStatus): Promise<void> {
    this.#leave();
    clearTimeout(this.#timer);
    await this.#ticking;
    this.#batch.push(...(this.#finished?.rest() ?? []));
    try {
      try {
        while (this.#sent.length + this.#batch.length > 0) await this.#flush();
        if (!this.run.isLost) await this.log.chunksEnd(this.run.id);
      } finally {
        // Also of a run whose last chunks the store refuses, as where `redact` fails.
        await this.#own(() => this.hold.change({ status }));
      }
    } catch (error) {
      if (!this.run.isLost) throw error;
    }
  }

  lost(): StemmaError {
    return this.hold.lost();
  }

  get settled(): Promise<unknown> {
    return this.hold.settled;
  }

  #schedule(): void {
    if (this.#isOver) return;
    const apart = Math.max(SHARE * keepers, TRIPS * this.trip);
    this.#timer = setTimeout(
      () => {
        this.#ticking = this.#tick().then(() => this.#schedule());
      },
      Math.max(TICK, Math.min(apart, this.run.state.lease / 4)),
    );
  }

  #leave(): void {
    if (!this.#isOver) keepers -= 1;
    this.#isOver = true;
  }

  async #tick(): Promise<void> {
    // Many runs are due at once.
    await yieldIfDue();
    const asked = performance.now();
    // What is refused is written again at the end, when the run fails of it. Until then it goes on.
    const isWritten = await this.#flush().catch(() => false);
    try {
      await this.#look(isWritten);
    } catch {
      // The store may answer the next time. Until the lease ends the run is ours.
      if (this.hold.isLeaseOver) this.run.breakOff("lost");
    }
    this.trip = performance.now() - asked;
  }

  // False where there was nothing. What could not be written is written again as it was: it may be there.
  async #flush(): Promise<boolean> {
    if (this.#sent.length === 0) [this.#sent, this.#batch] = [this.#batch, []];
    if (this.#sent.length === 0) return false;
    await this.write([this.log.chunkWrite(this.run.id, this.#batches, this.#sent)]);
    this.#batches += 1;
    this.#sent = [];
    return true;
  }

  // A write has looked already.
  async #look(isWritten: boolean): Promise<void> {
    if (!this.#isBegun && performance.now() - this.#claimedAt > UNANSWERED) return this.#abandon();
    const { status } = isWritten ? this.hold.state : await this.#own(() => this.hold.look());
    if (status === "stopping") this.run.breakOff("stopped");
    await this.#own(() => this.hold.renew());
    this.run.state = this.hold.state;
  }

  // Its lease ends, and with it the run.
  #abandon(): void {
    this.#leave();
    this.run.breakOff("lost");
    this.run.end();
  }

  async #own<T>(work: () => Promise<T>): Promise<T> {
    if (this.run.isLost) throw this.lost();
    try {
      return await work();
    } catch (error) {
      if (StemmaError.isInstance(error, "RUN_LOST")) this.run.breakOff(this.hold.isDeleted ? "deleted" : "lost");
      throw error;
    }
  }
}

type Answered = Pick<RunState, "questionId" | "answerId" | "leafBefore">;

/** Adds a chunk to a batch; a piece of a text goes to the end of the piece before it. */
function addToBatch(batch: UIMessageChunk[], chunk: UIMessageChunk): void {
  const last = batch.at(-1);
  const joined = last === undefined ? null : join(last, chunk);
  if (joined === null) batch.push(chunk);
  else batch[batch.length - 1] = joined;
}

function join(last: UIMessageChunk, chunk: UIMessageChunk): UIMessageChunk | null {
  if (last.type === "tool-input-delta" && chunk.type === "tool-input-delta") {
    if (last.toolCallId !== chunk.toolCallId) return null;
    return { ...chunk, inputTextDelta: last.inputTextDelta + chunk.inputTextDelta };
  }
  if (last.type !== "text-delta" && last.type !== "reasoning-delta") return null;
  if (last.type !== chunk.type || last.id !== chunk.id) return null;
  // What a provider adds to a piece, as a signature, stands for all before it.
  if (last.providerMetadata !== undefined) return null;
  return { ...chunk, delta: last.delta + chunk.delta };
}

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
