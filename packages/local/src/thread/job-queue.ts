import { setImmediate } from "node:timers/promises";
import { StemmaError } from "@stemma/model";
import type { EncodedQuery, Encoder, Tokens } from "./encoder.js";
import { type ModelTask, sharedClock } from "./protocol.js";

/** Tokens that are read before another request has its turn: a twentieth of a second or so. */
const TOKENS_PER_TURN = 1_000;
/** Milliseconds that a token takes on a slow machine: the guess until it is known. */
const FIRST_GUESS = 0.2;
/** How much the latest turn counts for what the next one is thought to take. */
const LATEST = 0.3;

interface Job {
  readonly id: number;
  readonly encoder: Encoder;
  readonly task: ModelTask;
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

  constructor(private readonly answers: Answers) {}

  add(id: number, encoder: Encoder, task: ModelTask): void {
    this.#jobs.set(id, { id, encoder, task, query: null, done: [], tokens: 0 });
    if (!this.#isWorking) void this.#work();
  }

  /** Forgets a request that nobody waits for. */
  drop(id: number): void {
    this.#jobs.delete(id);
  }

  /** Fails whatever waits for a model that is about to go. */
  dropAll(encoder: Encoder, error: unknown): void {
    for (const { id } of [...this.#jobs.values()].filter((job) => job.encoder === encoder)) this.#fail(id, error);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#jobs.size > 0) {
      const job = [...this.#jobs.values()].reduce((least, each) => (each.tokens < least.tokens ? each : least));
      try {
        if (await this.#turn(job)) this.#finish(job);
      } catch (error) {
        this.#fail(job.id, error);
      }
      // What arrived meanwhile is heard.
      await setImmediate();
    }
    this.#isWorking = false;
  }

  /** Reads the next texts of a request. Gives true when it is to be answered. */
  async #turn(job: Job): Promise<boolean> {
    const { task, encoder, done } = job;
    if (leftOf(task) <= 0) return true;
    if ("query" in task) job.query ??= await encoder.query(task.query);
    const left = leftOf(task);
    // Those that wait share half of the time that is left, so that each has a turn before it is over, even if one takes longer.
    const most = Math.min(TOKENS_PER_TURN, left / 2 / this.#waiting() / this.#msPerToken);
    const next: Tokens[] = [];
    let tokens = 0;
    for (const text of task.texts.slice(done.length)) {
      const read = job.query === null ? encoder.tokens(text) : encoder.passage(job.query, text);
      if (next.length > 0 && tokens + read.ids.length > most) break;
      next.push(read);
      tokens += read.ids.length;
    }
    // One passage more would be too late.
    if (done.length > 0 && tokens * this.#msPerToken > left) return true;
    const began = sharedClock();
    done.push(...(job.query === null ? await encoder.vectors(next) : await encoder.scores(job.query, next)));
    job.tokens += tokens;
    if (tokens > 0) this.#msPerToken += LATEST * ((sharedClock() - began) / tokens - this.#msPerToken);
    return done.length === task.texts.length;
  }

  /** How many have had no turn yet, this one included. */
  #waiting(): number {
    let count = 0;
    for (const { tokens } of this.#jobs.values()) if (tokens === 0) count += 1;
    return Math.max(1, count);
  }

  // Unless it was dropped meanwhile.
  #fail(id: number, error: unknown): void {
    if (this.#jobs.delete(id)) this.answers.fail(id, error);
  }

  #finish({ id, task, done }: Job): void {
    if (done.length === 0 && task.texts.length > 0) {
      const message = "The local model had no time for this request: too many came at once. Try it again later.";
      this.#fail(id, new StemmaError("MODEL_BUSY", {}, message));
      return;
    }
    if (!this.#jobs.delete(id)) return;
    const size = done[0] instanceof Float32Array ? done[0].length : 1;
    const numbers = new Float32Array(done.length * size);
    for (const [index, made] of done.entries()) {
      if (typeof made === "number") numbers[index] = made;
      else numbers.set(made, index * size);
    }
    this.answers.answer(id, numbers);
  }
}

function leftOf(task: ModelTask): number {
  return "deadline" in task ? task.deadline - sharedClock() : Number.POSITIVE_INFINITY;
}
