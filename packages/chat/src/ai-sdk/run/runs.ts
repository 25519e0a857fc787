import { Queue, StemmaError, sleep, yieldIfDue } from "@stemma/model";
import { coreOf, isUnderWay, type KnownRun, type RunState, type Session, type ToldTime } from "@stemma/session";
import type { UIMessageChunk } from "ai";
import { RunHold } from "./hold.js";
import { RunKeeper } from "./keeper.js";
import { Feed, LiveRun, RunLog } from "./log.js";
import { recover } from "./recover.js";

/** The way of a request that comes while the session answers another one. */
export type WhenBusy = "queue" | "reject";

/** How often a process looks whether a run of another one has ended, in milliseconds. */
const POLL = 200;

export interface HeldRun {
  readonly run: LiveRun;
  readonly keeper: RunKeeper;
  /** The run before, whose chunks nobody needs any more; null without one. */
  readonly earlier: string | null;
  /** True where no other run was there since the look that the claim was given. */
  readonly isAsSeen: boolean;
}

/** A look at the runs of a session. */
export interface RunLook {
  /** The latest run; null without one. */
  readonly known: KnownRun | null;
  /** When that was; null where the database has no clock. */
  readonly time: ToldTime | null;
}

export type NewRun = Pick<RunState, "runId" | "questionId" | "answerId" | "leafBefore">;

interface Process {
  readonly live: Map<string, LiveRun>;
  /** Runs of other processes that somebody of this one reads, by their ids. */
  readonly followed: Map<string, FollowedRun>;
  readonly queue: Queue;
  /** By session: the next look at its run that somebody waits for. */
  readonly looks: Map<string, Promise<RunState | null>>;
}

// What this process runs, by store: a request may come with a session object of its own.
const processes = new WeakMap<object, Process>();

/** The runs of one session: one at a time, whichever process it is in. */
export class SessionRuns {
  readonly #log: RunLog;
  readonly #process: Process;

  constructor(private readonly session: Session) {
    const { records, store } = coreOf(session);
    const key = store?.whole ?? store ?? records;
    const known = processes.get(key) ?? { live: new Map(), followed: new Map(), queue: new Queue(), looks: new Map() };
    processes.set(key, known);
    this.#process = known;
    this.#log = new RunLog(records, session.id);
  }

  /** The latest run, after one whose process died was ended. Null when there was none. */
  async latest(): Promise<RunState | null> {
    for (;;) {
      const known = await this.#log.read();
      if (known === null || !(await this.#isDead(known))) return known?.state ?? null;
      await recover(this.session, this.#log, known);
    }
  }

  /** Looks at the latest run, whatever became of it. */
  async look(): Promise<RunLook> {
    const [known, time] = await Promise.all([this.#log.read(), this.#log.time()]);
    return { known, time };
  }

  /** The run of this process; null when none is under way here. */
  get live(): LiveRun | null {
    const run = this.#process.live.get(this.session.id);
    return run === undefined || run.isOver ? null : run;
  }

  /**
   * Takes the session for a run, in the order of the calls. Errors: `SESSION_BUSY` where another run is under way and
   * `whenBusy` says so, or the caller has gone while it waited.
   */
  claim(state: NewRun, options: ClaimOptions): Promise<HeldRun> {
    return this.#process.queue.write(this.session.id, () => this.#claim(state, options));
  }

  async release({ run, keeper, earlier }: HeldRun, status: RunState["status"]): Promise<void> {
    try {
      await keeper.end(status);
    } finally {
      if (this.#process.live.get(this.session.id) === run) this.#process.live.delete(this.session.id);
      run.end();
      // What stays expires by itself.
      if (earlier !== null) await this.#log.forgetChunks(earlier).catch(() => {});
    }
  }

  /** Breaks a run off. False when it is not under way. */
  async stop(runId: string): Promise<boolean> {
    if (!(await this.#log.stop(runId))) return false;
    if (this.live?.id === runId) this.live.breakOff("stopped");
    return true;
  }

  /** Waits until no run is under way, at most so many milliseconds. */
  async idle(timeout: number): Promise<void> {
    const end = performance.now() + timeout;
    let state = await this.latest();
    while (state !== null && isUnderWay(state) && performance.now() < end) {
      const left = Math.max(1, end - performance.now());
      const { live } = this;
      const next = live === null ? this.#nextLook() : live.ended.then(() => this.latest());
      state = await Promise.race([next, sleep(left).then(() => state)]);
    }
  }

  // All who wait for the run of another process share one look, so their number does not matter.
  #nextLook(): Promise<RunState | null> {
    const { looks } = this.#process;
    const { id } = this.session;
    const known = looks.get(id);
    if (known !== undefined) return known;
    const look = sleep(POLL).then(() => {
      looks.delete(id);
      return this.latest();
    });
    // Whoever waits for it may be gone by then.
    look.catch(() => {});
    looks.set(id, look);
    return look;
  }

  /** The answer of the run that is under way, from its start; null when there is none. `questionId`: only of that one. */
  async stream(questionId?: string): Promise<ReadableStream<UIMessageChunk> | null> {
    const state = await this.latest();
    if (state === null || !isUnderWay(state)) return null;
    if (questionId !== undefined && state.questionId !== questionId) return null;
    if (this.live?.id === state.runId) return this.live.stream();
    const { followed } = this.#process;
    const run = followed.get(state.runId) ?? new FollowedRun(state.runId, this.#log, () => this.latest(), followed);
    return run.stream();
  }

  async #claim(state: NewRun, { lease, whenBusy, signal, seen }: ClaimOptions): Promise<HeldRun> {
    for (let look = seen; ; look = undefined) {
      const { known, time } = look ?? (await this.look());
      if (known !== null && isUnderWay(known.state)) {
        if (await this.#isDead(known)) await recover(this.session, this.#log, known);
        else if (whenBusy === "reject") throw this.#busy(known);
        else await (this.live?.ended ?? sleep(Math.min(POLL, known.state.lease / 4)));
        // Whoever has gone while it waited was told nothing yet.
        if (signal?.aborted) throw this.#busy(known);
        continue;
      }
      const running = {
        ...state,
        status: "running",
        owner: crypto.randomUUID(),
        lease,
        leaseUntil: time === null ? null : time.in(lease),
      } as const;
      const asked = performance.now();
      const written = await this.#log.write(running, known?.version ?? 0);
      if (written === null) continue;
      const trip = performance.now() - asked;
      const run = new LiveRun(written.state);
      this.#process.live.set(this.session.id, run);
      const hold = new RunHold(this.session, this.#log, written);
      const isRedacted = coreOf(this.session).store?.redaction !== undefined;
      const keeper = new RunKeeper(this.#log, run, hold, isRedacted, trip);
      return { run, keeper, earlier: known?.state.runId ?? null, isAsSeen: look !== undefined };
    }
  }

  // One of this process lives, however late it says so.
  async #isDead(known: KnownRun): Promise<boolean> {
    const { live } = this;
    const isOwn = live !== null && !live.isLost && live.state.owner === known.state.owner;
    return !isOwn && (await this.#log.isDead(known));
  }

  #busy({ state }: KnownRun): StemmaError {
    const message = "The chat is being answered. Wait until that has ended, or stop it, and send the message again.";
    return new StemmaError("SESSION_BUSY", { sessionId: this.session.id, runId: state.runId }, message);
  }
}

interface ClaimOptions {
  /** How long a run counts as alive after its process last said so, in milliseconds. */
  readonly lease: number;
  readonly whenBusy: WhenBusy;
  /** Aborted when the caller has gone. */
  readonly signal?: AbortSignal | undefined;
  /** A look that the caller had already. Default: the claim looks itself. */
  readonly seen?: RunLook | undefined;
}

/** How often the answer of another process is looked at while it goes on, in milliseconds. */
const FIRST_POLL = 100;
/** How often while nothing comes, after a while. */
const SLOWEST_POLL = 1_000;
/** For each run that a process follows at once its looks are so many milliseconds further apart: it makes 500 a second at most. */
const SHARE = 2;

/**
 * The answer of a run of another process, from its start until it ends. Its readers share what is read of the store, and nothing
 * is read when the last of them has gone.
 */
class FollowedRun {
  readonly #feed = new Feed<UIMessageChunk>();
  #readers = 0;
  #after: string | undefined;
  #poll = FIRST_POLL;
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
      if (await this.#readChunks()) this.#poll = FIRST_POLL;
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
