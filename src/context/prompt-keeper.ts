import { once } from "../once.js";
import type { WritableContextProvider, WriteOptions } from "./provider.js";
import { callProvider, readProvider } from "./provider-call.js";

/** How errors name the provider that keeps the prompt. */
const NAME = "cached prompt";

/** Keeps the frozen prompt of a session. */
export interface PromptStore extends WritableContextProvider {
  /** Missing where a prompt that is taken back is written as "". */
  drop?(): Promise<void>;
  /** The prompt as it would be stored. Default: as it is. */
  stored?(prompt: string): string;
}

/** The calls on a prompt's store. A provider of the host's is made ready first, and runs as a callback. */
export class PromptKeeper {
  readonly #ready: () => Promise<void>;

  constructor(
    private readonly store: PromptStore,
    private readonly calling: <T>(callback: () => Promise<T>) => Promise<T>,
  ) {
    this.#ready = once(() => callProvider(NAME, "init", () => store.init?.("prompt")));
  }

  /** True for a store of ours, which is asked at once, and answers. */
  get isOurs(): boolean {
    return this.store.drop !== undefined;
  }

  /** The prompt as it would be stored. Errors: `REDACTION_FAILED`. */
  stored(prompt: string): string {
    return this.store.stored?.(prompt) ?? prompt;
  }

  get(): Promise<string | null> {
    return this.#asking(() => readProvider(NAME, "get", () => this.store.get()));
  }

  async set(prompt: string, options?: WriteOptions): Promise<void> {
    const set = () => (options ? this.store.set(prompt, options) : this.store.set(prompt));
    await this.#asking(() => callProvider(NAME, "set", set));
  }

  async drop(): Promise<void> {
    if (this.store.drop) await this.store.drop();
    else await this.set("");
  }

  #asking<T>(call: () => Promise<T>): Promise<T> {
    if (this.isOurs) return call();
    return this.calling(async () => {
      await this.#ready();
      return call();
    });
  }
}
