import { Worker } from "node:worker_threads";
import { StemmaError } from "@stemma/model";
import { type FromThread, LOADED, type ModelInfo, type ModelSource, type ThreadTask } from "./thread/protocol.js";

// The build puts it here: see `scripts/local-thread.mjs`.
declare const LOCAL_THREAD: string;

/** Requests that may wait at once: none of more would have its turn in time. */
const MAX_WAITING = 256;

interface Waiting {
  resolve(message: FromThread): void;
  reject(error: unknown): void;
}

/** A thread with a model in it. It keeps the process alive only while somebody waits for it. */
export class ModelThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = LOADED;
  #isOver = false;
  /** Resolves when the model is loaded. Errors: `MODEL_UNAVAILABLE`. */
  readonly info: Promise<ModelInfo>;

  constructor(source: ModelSource) {
    this.#worker = new Worker(LOCAL_THREAD, { eval: true, workerData: source, name: "stemma-local" });
    this.info = this.#answer(LOADED).then((message) => (message as { info: ModelInfo }).info);
    // Whoever waits for it is told.
    this.info.catch(() => this.close());
    this.#worker
      .on("message", (message: FromThread) => {
        const waiting = this.#waiting.get(message.id);
        if ("failure" in message) {
          const { code, message: text } = message.failure;
          waiting?.reject(new StemmaError(code, {}, text));
        } else waiting?.resolve(message);
      })
      .on("error", (error) => this.#end(`the thread of the local model failed: ${String(error)}`))
      .on("exit", (code) => this.#end(`the thread of the local model ended with code ${code}`));
  }

  /** Whether it takes requests no more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Asks the model. Errors: `MODEL_BUSY`, `MODEL_UNAVAILABLE`, the reason of an abort. */
  async request(task: ThreadTask, signal?: AbortSignal): Promise<Float32Array> {
    signal?.throwIfAborted();
    if (this.#waiting.size >= MAX_WAITING) {
      const message = `${MAX_WAITING} requests wait for the local model already. Try it again later.`;
      throw new StemmaError("MODEL_BUSY", {}, message);
    }
    this.#lastId += 1;
    const id = this.#lastId;
    const drop = () => {
      this.#waiting.get(id)?.reject(signal?.reason);
      this.#worker.postMessage(id);
    };
    signal?.addEventListener("abort", drop, { once: true });
    try {
      this.#worker.postMessage({ ...task, id });
      return ((await this.#answer(id)) as { numbers: Float32Array }).numbers;
    } finally {
      signal?.removeEventListener("abort", drop);
    }
  }

  /** Ends the thread. Whoever waits gets `MODEL_UNAVAILABLE`. */
  async close(): Promise<void> {
    this.#end("it was closed");
    await this.#worker.terminate();
  }

  async #answer(id: number): Promise<FromThread> {
    if (this.#waiting.size === 0) this.#worker.ref();
    try {
      return await new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#worker.unref();
    }
  }

  #end(why: string): void {
    this.#isOver = true;
    const error = new StemmaError("MODEL_UNAVAILABLE", {}, `The local model gave no answer: ${why}.`);
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}
