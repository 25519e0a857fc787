import { once, type Queue, queueOf, StemmaError } from "@stemma/model";
import { hostCallsOf } from "./host-calls.js";
import { callProvider, readProvider, type WritableContextProvider, type WriteOptions } from "./provider.js";

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

/** What puts the calls on one prompt in order, whichever objects make them. */
export interface PromptOrder {
  readonly queue: Queue;
  readonly key: string;
}

type Render = () => Promise<string>;

/** Gives what `work` gives; fails when that takes too long. */
export type TimeLimit = <T>(work: Promise<T>) => Promise<T>;

/**
 * The frozen system prompt: kept by a provider, or in memory when there is none. Calls run one after another; one that
 * may come from within a provider, while a rendering asks it, runs at once.
 */
export class FrozenPrompt {
  readonly #keeper: PromptKeeper | null;
  readonly #order: PromptOrder;
  #known: string | null = null;
  #asked = false;
  #answer: string | null = null;
  #calls = 0;
  /** The latest call whose rendering counts: of an earlier one it is not written any more. */
  #latest = 0;

  constructor(store: PromptStore | null, order?: PromptOrder) {
    this.#keeper = store === null ? null : new PromptKeeper(store, (call) => this.calling(call));
    this.#order = order ?? { queue: queueOf(store ?? this), key: "prompt" };
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
    return this.atHand;
  }

  /** The same without asking; null also where nobody has asked yet. */
  get atHand(): string | null {
    return this.#known ?? this.#answer;
  }

  /** True where the prompt may be frozen though this object does not know of it. */
  get isKept(): boolean {
    return this.#keeper !== null;
  }

  /** The stored prompt; null when nothing is frozen. */
  read(): Promise<string | null> {
    return this.#inTurn(() => this.#read());
  }

  /** The stored prompt, or else what `render` makes, stored. */
  freeze(render: Render): Promise<{ prompt: string; rendered: boolean }> {
    const call = ++this.#calls;
    return this.#inTurn(async () => {
      const stored = await this.#read();
      if (stored !== null) return { prompt: stored, rendered: false };
      const latest = this.#latest;
      const prompt = await render();
      if (this.#latest !== latest && this.#known !== null) return { prompt: this.#known, rendered: true };
      try {
        return { prompt: await this.#write(call, prompt, { expectedVersion: 0 }), rendered: true };
      } catch (error) {
        // Another process froze its own rendering meanwhile: there is one prompt, the stored one.
        const winner = StemmaError.isInstance(error, "BLOCK_CONFLICT") ? await this.#stored() : null;
        if (winner === null) throw error;
        this.#known = winner;
        return { prompt: winner, rendered: true };
      }
    });
  }

  /** Stores what `render` makes in place of what was frozen. */
  refresh(render: Render): Promise<string> {
    const call = ++this.#calls;
    return this.#inTurn(async () => this.#write(call, await render()));
  }

  /**
   * Stores what `render` makes if a prompt is frozen, or was and `cleared` dropped it. Where it cannot be rendered in time,
   * nothing is frozen any more.
   */
  renew(cleared: Promise<boolean>, render: Render, limit: TimeLimit): Promise<void> {
    const call = ++this.#calls;
    // Told below, in its turn.
    cleared.catch(() => {});
    return this.#inTurn(async () => {
      const dropped = await cleared;
      this.#latest = Math.max(this.#latest, call);
      this.#answer = null;
      const isOurs = this.#keeper?.isOurs === true;
      // A store of ours answers, and is to be waited for.
      const stored: TimeLimit = (work) => (isOurs ? work : limit(work));
      try {
        if ((await stored(this.#read())) === null && !(dropped && isOurs)) return;
        const prompt = await limit(render());
        await stored(this.#write(call, prompt));
      } catch {
        this.#known = null;
        if (this.#keeper !== null) await stored(this.#keeper.drop());
      }
    });
  }

  /** Ends it: what calls until now render is not written any more. */
  revoke(): void {
    this.#latest = ++this.#calls;
    this.#known = null;
  }

  /** Runs callbacks of the host for a rendering. */
  calling<T>(callbacks: () => Promise<T>): Promise<T> {
    const { queue, key } = this.#order;
    return hostCallsOf(queue).run(key, callbacks);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { queue, key } = this.#order;
    return hostCallsOf(queue).mayBeCalling(key) ? work() : queue.write(key, work);
  }

  async #read(): Promise<string | null> {
    const stored = await this.#stored();
    // A provider may answer "" for "nothing yet". Of our own, which can hold an empty prompt, #write finds out.
    if (stored === "" && this.#known !== "") return null;
    this.#known = stored;
    return stored;
  }

  async #stored(): Promise<string | null> {
    return this.#keeper === null ? this.#known : this.#keeper.get();
  }

  async #write(call: number, rendered: string, options?: WriteOptions): Promise<string> {
    const prompt = this.#keeper?.stored(rendered) ?? rendered;
    if (call < this.#latest) return prompt;
    this.#latest = call;
    await this.#keeper?.set(prompt, options);
    this.#known = prompt;
    return prompt;
  }
}
