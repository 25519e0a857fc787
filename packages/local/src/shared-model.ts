import { StemmaError } from "@stemma/model";
import { ModelThread } from "./model-thread.js";
import type { ModelInfo, ModelSource, ThreadTask } from "./thread/protocol.js";

/** The models that are in use in this process. */
const SHARED = new Map<string, SharedModel>();

/** A model of the process: one thread, however many use it. */
export class SharedModel {
  #users = 0;
  #thread: ModelThread;
  #info: ModelInfo | null = null;

  private constructor(
    private readonly key: string,
    private readonly source: ModelSource,
  ) {
    this.#thread = new ModelThread(source);
  }

  /** Loads a model, unless this process has it. Whoever opens it closes it once. Errors: `MODEL_UNAVAILABLE`. */
  static async open(source: ModelSource): Promise<SharedModel> {
    const key = JSON.stringify(source);
    const shared = SHARED.get(key) ?? new SharedModel(key, source);
    SHARED.set(key, shared);
    shared.#users += 1;
    try {
      await shared.#running();
      return shared;
    } catch (error) {
      await shared.close();
      throw error;
    }
  }

  get info(): ModelInfo {
    return this.#info as ModelInfo;
  }

  /** Asks the model. Errors: `MODEL_BUSY`, `MODEL_UNAVAILABLE`, the reason of an abort. */
  async request(task: ThreadTask, signal?: AbortSignal): Promise<Float32Array> {
    return (await this.#running()).request(task, signal);
  }

  /** Ends the thread if nobody else uses it. */
  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    SHARED.delete(this.key);
    await this.#thread.close();
  }

  /** The thread with the model in it: another one if that of before ended. */
  async #running(): Promise<ModelThread> {
    if (this.#thread.isOver) this.#thread = new ModelThread(this.source);
    const thread = this.#thread;
    const info = await thread.info;
    this.#info ??= info;
    if (info.digest === this.#info.digest) return thread;
    const { model } = this.source;
    const message = `The model "${model}" was replaced by another one. Call localModel() again, and give the store what it makes.`;
    throw new StemmaError("MODEL_UNAVAILABLE", { model }, message);
  }
}
