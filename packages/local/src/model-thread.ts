import { Worker } from "node:worker_threads";
import { StemmaError } from "@stemma/model";
import type { FromThread, ModelInfo, ModelSource, ModelTask, ToThread } from "./thread/protocol.js";

// The build puts it here: see `scripts/local-thread.mjs`.
declare const LOCAL_THREAD: string;

/** Requests that may wait at once: none of more would have its turn in time. */
const MAX_WAITING = 256;

interface Waiting {
  resolve(message: FromThread): void;
  reject(error: unknown): void;
}

/** A model that was loaded: its number, and what it is like. */
export interface ThreadModel {
  readonly number: number;
  readonly info: ModelInfo;
}

// Of all copies of this file in the process: the library's native part breaks the process where two threads load it.
const THREAD = Symbol.for("stemma.local.thread");
const shared = globalThis as { [THREAD]?: ModelThread };

/**
 * The thread of all models of the process. It keeps the process alive only while somebody waits for it, and does not end before
 * that: the library's native part cannot be loaded again once the thread that loaded it is gone.
 */
export class ModelThread {
  // What the library prints would stand among what the program does. Where the program is a text, so would be how Node reads it.
  readonly #worker = new Worker(LOCAL_THREAD, { eval: true, name: "stemma-local", stdout: true, execArgv: [] });
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isOver = false;

  private constructor() {
    this.#worker.unref();
    this.#worker
      .on("message", (message: FromThread) => {
        const waiting = this.#waiting.get(message.id);
        if ("failure" in message) waiting?.reject(new StemmaError(message.failure.code, {}, message.failure.message));
        else waiting?.resolve(message);
      })
      .on("error", (error) => this.#end(String(error)))
      .on("exit", (code) => this.#end(`exit code ${code}`));
  }

  /** The thread that runs, or a new one. */
  static get(): ModelThread {
    const running = shared[THREAD];
    if (running !== undefined && !running.isOver) return running;
    const thread = new ModelThread();
    shared[THREAD] = thread;
    return thread;
  }

  /** Whether it ended, for whatever reason. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Loads a model. Errors: `MODEL_UNAVAILABLE`. */
  async load(source: ModelSource): Promise<ThreadModel> {
    const { id, info } = (await this.#ask((id) => ({ id, load: source }))) as Extract<FromThread, { info: ModelInfo }>;
    return { number: id, info };
  }

  /** Asks a model. Errors: `MODEL_BUSY`, `MODEL_UNAVAILABLE`, the reason of an abort. */
  async run(model: ThreadModel, task: ModelTask, signal?: AbortSignal): Promise<Float32Array> {
    signal?.throwIfAborted();
    if (this.#waiting.size >= MAX_WAITING) {
      const message = `${MAX_WAITING} requests wait for the local model already. Try it again later.`;
      throw new StemmaError("MODEL_BUSY", {}, message);
    }
    const answer = await this.#ask((id) => ({ id, model: model.number, task }), signal);
    return (answer as Extract<FromThread, { numbers: Float32Array }>).numbers;
  }

  /** Frees the memory of a model. */
  unload(model: ThreadModel): void {
    this.#send({ unload: model.number });
  }

  async #ask(request: (id: number) => ToThread, signal?: AbortSignal): Promise<FromThread> {
    this.#lastId += 1;
    const id = this.#lastId;
    const drop = () => {
      this.#waiting.get(id)?.reject(signal?.reason);
      this.#send({ drop: id });
    };
    signal?.addEventListener("abort", drop, { once: true });
    if (this.#waiting.size === 0) this.#worker.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#send(request(id));
      });
    } finally {
      signal?.removeEventListener("abort", drop);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#worker.unref();
    }
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #end(why: string): void {
    this.#isOver = true;
    const message = `The thread of the local models ended (${why}). Start the process again.`;
    for (const { reject } of this.#waiting.values()) reject(new StemmaError("MODEL_UNAVAILABLE", {}, message));
  }
}
