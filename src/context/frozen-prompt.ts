import { StemmaError } from "../errors.js";
import type { WritableContextProvider, WriteOptions } from "./provider.js";
import { callProvider, enqueue, once, readProvider } from "./provider-call.js";

/** How errors name the provider that keeps the prompt. */
const NAME = "cached prompt";

/** The frozen system prompt: kept by a provider, or in memory when there is none. Calls run one after another. */
export class FrozenPrompt {
  readonly #store: WritableContextProvider | null;
  readonly #ready: () => Promise<void>;
  #known: string | null = null;
  #asked = false;
  #answer: string | null = null;

  constructor(store: WritableContextProvider | null) {
    this.#store = store;
    this.#ready = once(() => callProvider(NAME, "init", () => store?.init?.("prompt")));
  }

  /** The prompt as last read or written by this object; null before that. */
  get known(): string | null {
    return this.#known;
  }

  /**
   * The prompt for an estimate: as this object last saw it, or as the store gave it when it was first asked. Null when
   * nothing was frozen by then. Asks once, never fails, and waits for nobody: it may be a provider that calls.
   */
  async seen(): Promise<string | null> {
    if (this.#known === null && !this.#asked) {
      this.#asked = true;
      try {
        this.#answer = (await this.#stored()) || null;
      } catch {
        // Whoever needs the prompt itself is told.
      }
    }
    return this.#known ?? this.#answer;
  }

  /** The stored prompt; null when nothing is frozen. */
  read(): Promise<string | null> {
    return enqueue(this, () => this.#read());
  }

  /** The stored prompt, or else what `render` makes, stored. */
  freeze(render: () => Promise<string>): Promise<{ prompt: string; rendered: boolean }> {
    return enqueue(this, async () => {
      const stored = await this.#read();
      if (stored !== null) return { prompt: stored, rendered: false };
      const prompt = await render();
      try {
        return { prompt: await this.#write(prompt, { expectedVersion: 0 }), rendered: true };
      } catch (error) {
        // Another process froze its own rendering meanwhile: there is one prompt, the stored one.
        const winner = StemmaError.isInstance(error, "BLOCK_CONFLICT") ? await this.#stored() : null;
        if (winner === null) throw error;
        this.#known = winner;
        return { prompt: winner, rendered: true };
      }
    });
  }

  /** Stores what `render` makes in place of what was frozen; with `store`, that does. */
  refresh(render: () => Promise<string>, store?: (prompt: string) => Promise<void>): Promise<string> {
    return enqueue(this, async () => {
      const prompt = await render();
      if (store === undefined) return this.#write(prompt);
      await store(prompt);
      this.#known = prompt;
      return prompt;
    });
  }

  async #read(): Promise<string | null> {
    const stored = await this.#stored();
    // A provider may answer "" for "nothing yet". Of our own, which can hold an empty prompt, #write finds out.
    if (stored === "" && this.#known !== "") return null;
    this.#known = stored;
    return stored;
  }

  async #stored(): Promise<string | null> {
    const store = this.#store;
    if (!store) return this.#known;
    await this.#ready();
    return readProvider(NAME, "get", () => store.get());
  }

  async #write(prompt: string, options?: WriteOptions): Promise<string> {
    const store = this.#store;
    if (store) {
      await this.#ready();
      await callProvider(NAME, "set", () => (options ? store.set(prompt, options) : store.set(prompt)));
    }
    this.#known = prompt;
    return prompt;
  }
}
