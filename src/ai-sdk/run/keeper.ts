import type { UIMessageChunk } from "ai";
import { isUnderWay, type KnownRun, type RunState, type RunStatus } from "../../session/run-record.js";
import { addToBatch } from "./coalesce.js";
import type { LiveRun } from "./live-run.js";
import type { RunLog } from "./log.js";

/** How often a run writes what it has and looks whether it was stopped, in milliseconds. */
const TICK = 200;

/** How long a run is kept whose answer nobody has begun, in milliseconds. */
const UNANSWERED = 60_000;

/** Keeps other processes informed of a run: writes its chunks, renews its lease, and breaks it off when they say so. */
export class RunKeeper {
  #batch: UIMessageChunk[] = [];
  #batches = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ticking: Promise<void> = Promise.resolve();
  #isOver = false;
  #isBegun = false;
  readonly #claimedAt = Date.now();

  constructor(
    private readonly log: RunLog,
    private readonly run: LiveRun,
    private version: number,
  ) {
    this.#schedule();
  }

  /** The answer begins: from now on the run is kept until its end. */
  begin(): void {
    this.#isBegun = true;
  }

  push(chunk: UIMessageChunk): void {
    addToBatch(this.#batch, chunk);
  }

  /** Says what is answered, once that is known, unless another process took the run over. */
  async update(change: Pick<RunState, "questionId" | "answerId" | "leafBefore">): Promise<void> {
    await this.#tick();
    if (!this.run.isLost) await this.#write({ ...this.run.state, ...change });
  }

  /** False when another process took the run over: then nothing more may be written for it. */
  async holds(): Promise<boolean> {
    if (this.run.isLost) return false;
    const known = await this.log.read();
    if (known === null || !this.#isOurs(known)) this.run.breakOff("lost");
    return !this.run.isLost;
  }

  /** Writes the last chunks and how the run ended. */
  async end(status: RunStatus): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#ticking;
    if (this.run.isLost) return;
    await this.#flush();
    for (let known = await this.log.read(); known !== null && this.#isOurs(known); known = await this.log.read()) {
      if ((await this.log.write({ ...known.state, status }, known.version)) !== null) return;
    }
  }

  #schedule(): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(() => {
      this.#tick().then(() => this.#schedule());
    }, TICK);
  }

  #tick(): Promise<void> {
    this.#ticking = this.#ticking.then(async () => {
      try {
        await this.#flush();
        await this.#look();
      } catch {
        // The store may answer the next time. Until the lease ends the run is ours.
        if (this.run.state.leaseUntil < Date.now()) this.run.breakOff("lost");
      }
    });
    return this.#ticking;
  }

  async #flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    const number = this.#batches++;
    while (!this.run.isLost && !(await this.log.addChunks(this.run.id, number, batch, this.version)))
      await this.#look();
  }

  async #look(): Promise<void> {
    if (!this.#isBegun && Date.now() - this.#claimedAt > UNANSWERED) return this.#abandon();
    const known = await this.log.read();
    if (known === null || !this.#isOurs(known)) return this.run.breakOff("lost");
    this.version = known.version;
    if (known.state.status === "stopping") this.run.breakOff("stopped");
    const { leaseUntil, lease } = known.state;
    if (leaseUntil - Date.now() < lease / 2) await this.#write(known.state);
  }

  // Its lease ends, and with it the run.
  #abandon(): void {
    this.#isOver = true;
    this.run.breakOff("lost");
    this.run.end();
  }

  #isOurs({ state }: KnownRun): boolean {
    return state.owner === this.run.state.owner && isUnderWay(state);
  }

  // A conflict is looked at in the next tick.
  async #write(state: RunState): Promise<void> {
    const written = await this.log.write({ ...state, leaseUntil: Date.now() + state.lease }, this.version);
    if (written === null) return;
    this.version = written.version;
    this.run.state = written.state;
  }
}
