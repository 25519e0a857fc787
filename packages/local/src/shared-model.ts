import { StemmaError } from "@stemma/model";
import { ModelThread, type ThreadModel } from "./model-thread.js";
import type { ModelInfo, ModelSource, ModelTask } from "./thread/protocol.js";

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
