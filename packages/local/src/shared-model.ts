import { Worker } from "node:worker_threads";
import { StemmaError } from "@stemma/model";
import type { FromThread, ModelInfo, ModelSource, ModelTask, ToThread } from "./thread/protocol.js";

/** The models that are in use in this process. */
const SHARED = new Map<string, SharedModel>();

/** A model of the process, however many use it. */
export class SharedModel {
  #users = 0;
  #thread = ModelThread.get();
  #loaded: Promise<ThreadModel>;
  #first: ModelInfo | null = null;

  private constructor(
    private readonly key: string,
    private readonly source: ModelSource,
  ) {
    this.#loaded = this.#thread.load(source);
  }

  /** Loads a model, unless this process has it. Whoever opens it closes it once. Errors: `MODEL_UNAVAILABLE`. */
  static async open(source: ModelSource): Promise<SharedModel> {
    const key = JSON.stringify(source);
    const shared = SHARED.get(key) ?? new SharedModel(key, source);
    SHARED.set(key, shared);
    shared.#users += 1;
    try {
      shared.#first ??= (await shared.#loaded).info;
      return shared;
    } catch (error) {
      await shared.close();
      throw error;
    }
  }

  get info(): ModelInfo {
    return this.#first as ModelInfo;
  }

  /** Asks the model. Errors: `MODEL_BUSY`, `MODEL_UNAVAILABLE`, the reason of an abort. */
  async run(task: ModelTask, signal?: AbortSignal): Promise<Float32Array> {
    if (this.#thread.isOver) {
      this.#thread = ModelThread.get();
      this.#loaded = this.#thread.load(this.source);
    }
    const model = await this.#loaded;
    this.#assertSame(model);
    return this.#thread.run(model, task, signal);
  }

  /** Frees the memory of the model if nobody else uses it. */
  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    if (SHARED.get(this.key) === this) SHARED.delete(this.key);
    const model = await this.#loaded.catch(() => null);
    if (model !== null) this.#thread.unload(model);
  }

  #assertSame({ info }: ThreadModel): void {
    if (info.digest === this.info.digest) return;
    const { model } = this.source;
    const message = `The model "${model}" was replaced by another one. Call localModel() again, and give the store what it makes.`;
    throw new StemmaError("MODEL_UNAVAILABLE", { model }, message);
  }
}

// The build puts it here: see `scripts/local-thread.mjs`.
declare const LOCAL_THREAD: string;

/** Requests that may wait at once: none of more would have its turn in time. */
const MAX_WAITING = 256;

interface Waiting {
  resolve(message: FromThread): void;
  reject(error: unknown): void;
}

/** A model that was loaded: its number, and what it is like. */
interface ThreadModel {
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
class ModelThread {
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
