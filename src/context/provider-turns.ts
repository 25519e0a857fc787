import { once } from "../once.js";
import { queueOf } from "../queue.js";
import { hostCallsOf } from "./host-calls.js";
import { type ContextBlockProvider, isVersioned } from "./provider.js";
import { callProvider } from "./provider-call.js";
import { AgentSearchProvider } from "./providers/agent-search.js";
import { StoreContextProvider } from "./providers/store-context.js";

/** When a block's provider is called: reads after the writes that were called before them. */
export class ProviderTurns {
  /** True for one of our own, which hands each call to its store at once; the store puts them in order. */
  readonly isOwn: boolean;
  /** Lets a provider of the host's prepare itself, once; a failed attempt is made again by the next call. */
  readonly #ready: () => Promise<void>;

  /** A provider of the host's is not called unless `open` resolves. */
  constructor(
    private readonly label: string,
    private readonly provider: ContextBlockProvider,
    private readonly open: () => Promise<void>,
  ) {
    this.isOwn = provider instanceof StoreContextProvider || provider instanceof AgentSearchProvider;
    this.#ready = once(() => callProvider(label, "init", () => provider.init?.(label)));
  }

  /**
   * Runs calls that write. Those of a provider of the host's that keeps no versions run one after another, in the order of the
   * calls of this method.
   */
  writing<T>(calls: () => Promise<T>): Promise<T> {
    const { provider } = this;
    // Others than the host's providers without versions tell which of several writes was the last.
    if (this.isOwn || isVersioned(provider)) return this.atOnce(calls);
    return queueOf(provider).write("", () => hostCallsOf(provider).run("", () => this.atOnce(calls)));
  }

  /** Runs a call that reads: after the writes that `turn` waits for. No write waits for it. */
  async reading<T>(call: () => Promise<T>): Promise<T> {
    const turn = this.turn();
    if (turn !== null) await turn;
    return this.atOnce(call);
  }

  /**
   * Waits for the writes to a provider of the host's that were called before. Null when there is nothing to wait for, or
   * when this may be called from within such a write, which would wait for itself.
   */
  turn(): Promise<void> | null {
    if (this.isOwn) return null;
    const { provider } = this;
    const queue = queueOf(provider);
    return queue.size === 0 || hostCallsOf(provider).mayBeCalling("") ? null : queue.read("", async () => {});
  }

  /** Runs calls as soon as the provider is ready, whatever is under way. */
  async atOnce<T>(calls: () => Promise<T>): Promise<T> {
    // Ours need no time to prepare themselves.
    if (this.isOwn) this.provider.init?.(this.label);
    else {
      await this.open();
      await this.#ready();
    }
    return calls();
  }
}
