import { setImmediate } from "node:timers/promises";
import { StemmaError } from "@stemma/model";
import type { EncodedQuery, Encoder } from "./encoder.js";
import { type ModelTask, sharedClock } from "./protocol.js";

interface Job {
  readonly id: number;
  readonly encoder: Encoder;
  readonly task: ModelTask;
  query: EncodedQuery | null;
  /** Numbers for each text that was read. */
  readonly done: (number | Float32Array)[];
  /** Milliseconds that were spent on it. */
  spent: number;
}

interface Answers {
  answer(id: number, numbers: Float32Array): void;
  fail(id: number, error: unknown): void;
}

/**
 * Requests that wait for the network. A text of the one on which the least time was spent is next, so a short request passes a long one,
 * and many at once get as much each. One whose time is over is answered with what was scored by then.
 */
export class JobQueue {
  readonly #jobs = new Map<number, Job>();
  #isWorking = false;

  constructor(private readonly answers: Answers) {}

  add(id: number, encoder: Encoder, task: ModelTask): void {
    this.#jobs.set(id, { id, encoder, task, query: null, done: [], spent: 0 });
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
    for (let job = this.#next(); job !== null; job = this.#next()) {
      try {
        await this.#read(job);
        if (job.done.length >= job.task.texts.length) this.#finish(job);
      } catch (error) {
        this.#fail(job.id, error);
      }
      // What arrived meanwhile is heard.
      await setImmediate();
    }
    this.#isWorking = false;
  }

  /** The request whose turn it is, after those were answered whose time is over. */
  #next(): Job | null {
    let next: Job | null = null;
    for (const job of this.#jobs.values()) {
      if ("deadline" in job.task && job.task.deadline <= sharedClock()) this.#finish(job);
      else if (next === null || job.spent < next.spent) next = job;
    }
    return next;
  }

  /** Reads the next text of a request. */
  async #read(job: Job): Promise<void> {
    const { task, encoder, done } = job;
    const text = task.texts[done.length];
    if (text === undefined) return;
    const began = sharedClock();
    if ("query" in task) {
      job.query ??= await encoder.query(task.query);
      done.push(await encoder.score(job.query, text));
    } else done.push(await encoder.vector(text));
    job.spent += sharedClock() - began;
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
