import { setImmediate } from "node:timers/promises";
import { StemmaError } from "@stemma/model";
import type { EncodedQuery, Encoder, Tokens } from "./encoder.js";
import { sharedClock, type ThreadRequest } from "./protocol.js";

/** Tokens that are read before another request has its turn: a twentieth of a second or so. */
const TOKENS_PER_TURN = 1_000;
/** What a token takes on a slow machine, in milliseconds, until it is known. */
const FIRST_GUESS = 0.2;
/** How much the latest turn counts for what the next one is thought to take. */
const LATEST = 0.3;

interface Job {
  readonly request: ThreadRequest;
  query: EncodedQuery | null;
  /** Numbers for each text that was read. */
  readonly done: (number | Float32Array)[];
  /** Tokens that were read. */
  tokens: number;
}

interface Answers {
  answer(id: number, numbers: Float32Array): void;
  fail(id: number, error: unknown): void;
}

/**
 * Requests that wait for the network. The one for which the least was read is next, so a short request passes a long one, and many
 * at once get as much each. One whose time is over is answered with what was scored by then.
 */
export class JobQueue {
  readonly #jobs = new Map<number, Job>();
  #isWorking = false;
  #msPerToken = FIRST_GUESS;

  constructor(
    private readonly encoder: Encoder,
    private readonly answers: Answers,
  ) {}

  add(request: ThreadRequest): void {
    this.#jobs.set(request.id, { request, query: null, done: [], tokens: 0 });
    if (!this.#isWorking) void this.#work();
  }

  /** Forgets a request that nobody waits for. */
  drop(id: number): void {
    this.#jobs.delete(id);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#jobs.size > 0) {
      const job = [...this.#jobs.values()].reduce((least, each) => (each.tokens < least.tokens ? each : least));
      try {
        if (await this.#turn(job)) this.#finish(job);
      } catch (error) {
        this.#jobs.delete(job.request.id);
        this.answers.fail(job.request.id, error);
      }
      // What arrived meanwhile is heard.
      await setImmediate();
    }
    this.#isWorking = false;
  }

  /** Reads the next texts of a request. Gives true when it is to be answered. */
  async #turn(job: Job): Promise<boolean> {
    const { request, done } = job;
    const began = sharedClock();
    const left = "deadline" in request ? request.deadline - began : Number.POSITIVE_INFINITY;
    // Those that wait share the time that is left, so that each has a turn before it is over.
    const most = Math.min(TOKENS_PER_TURN, left / this.#waiting() / this.#msPerToken);
    if (left <= 0) return true;
    if ("query" in request) job.query ??= await this.encoder.query(request.query);
    const next: Tokens[] = [];
    let tokens = 0;
    for (const text of request.texts.slice(done.length)) {
      const read = job.query === null ? this.encoder.tokens(text) : this.encoder.passage(job.query, text);
      if (next.length > 0 && tokens + read.ids.length > most) break;
      next.push(read);
      tokens += read.ids.length;
    }
    // One passage more would be too late.
    if (done.length > 0 && tokens * this.#msPerToken > left) return true;
    done.push(...(job.query === null ? await this.encoder.vectors(next) : await this.encoder.scores(job.query, next)));
    job.tokens += tokens;
    if (tokens > 0) this.#msPerToken += LATEST * ((sharedClock() - began) / tokens - this.#msPerToken);
    return done.length === request.texts.length;
  }

  /** How many have had no turn yet, this one included. */
  #waiting(): number {
    let count = 0;
    for (const { tokens } of this.#jobs.values()) if (tokens === 0) count += 1;
    return Math.max(1, count);
  }

  #finish({ request: { id, texts }, done }: Job): void {
    // Unless it was dropped meanwhile.
    if (!this.#jobs.delete(id)) return;
    if (done.length === 0 && texts.length > 0) {
      const message = "The local model had no time for this request: too many came at once. Try it again later.";
      this.answers.fail(id, new StemmaError("MODEL_BUSY", {}, message));
      return;
    }
    const size = done[0] instanceof Float32Array ? done[0].length : 1;
    const numbers = new Float32Array(done.length * size);
    for (const [index, made] of done.entries()) {
      if (typeof made === "number") numbers[index] = made;
      else numbers.set(made, index * size);
    }
    this.answers.answer(id, numbers);
  }
}
