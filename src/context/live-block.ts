import { StemmaError } from "../errors.js";
import { appendText } from "../model/text.js";
import { estimateStringTokens } from "../model/tokens.js";
import type { StoredBlock } from "../storage/contract.js";
import { type ContextBlock, type ContextConfig, DEFAULT_MAX_TOKENS } from "./block.js";
import { foldLabel } from "./label.js";
import {
  type ContextBlockProvider,
  isKeyed,
  isVersioned,
  isWritable,
  type ProviderShape,
  shapeOf,
  type WritableContextProvider,
  type WriteOptions,
} from "./provider.js";
import { callProvider, enqueue, once, readProvider } from "./provider-call.js";

/** A block with its provider: what was last read of it, and the writes that keep to its budget. */
export class LiveBlock {
  readonly label: string;
  readonly folded: string;
  readonly reminds: boolean;
  readonly provider: ContextBlockProvider;
  readonly shape: ProviderShape;
  /** The budget that applies, whether or not the prompt shows one. */
  readonly cap: number;
  /** Lets the provider prepare itself, once; a failed attempt is made again by the next call. */
  readonly ready: () => Promise<void>;
  readonly #description: string | undefined;
  readonly #maxTokens: number | undefined;
  #content: Content | null = null;
  #failure: unknown = null;
  #clock = 0;
  #previewed = false;
  #preview: string | null = null;

  constructor(config: ContextConfig, provider: ContextBlockProvider) {
    this.label = config.label;
    this.folded = foldLabel(config.label);
    this.reminds = config.whenChanged === "remind";
    this.provider = provider;
    this.shape = shapeOf(provider);
    this.ready = once(() => callProvider(this.label, "init", () => provider.init?.(this.label)));
    this.cap = config.maxTokens ?? DEFAULT_MAX_TOKENS;
    this.#description = config.description;
    this.#maxTokens = config.maxTokens;
  }

  /** True once the provider has told the content. */
  get loaded(): boolean {
    return this.#content !== null && this.#content.arrived > 0;
  }

  /** True once there is a content to show, or an error that says why there is none. */
  get tried(): boolean {
    return this.#content !== null || this.#failure !== null;
  }

  /** The content as last read; null when there has been no good read. */
  get text(): string | null {
    return this.#content?.text ?? null;
  }

  /** What the model is told about the block; needs no content. */
  describe(): { label: string; description?: string; maxTokens?: number } & ProviderShape {
    return {
      label: this.label,
      ...(this.#description && { description: this.#description }),
      ...(this.#maxTokens !== undefined && { maxTokens: this.#maxTokens }),
      ...this.shape,
    };
  }

  /** The block as last read. Throws what the read threw when there has been no good one. */
  snapshot(): ContextBlock {
    if (this.#content === null) {
      if (this.#failure !== null) throw this.#failure;
      throw notLoaded();
    }
    const { text, version } = this.#content;
    return { ...this.showing(text), ...(version !== undefined && { version }) };
  }

  /** The block with this content. */
  showing(text: string): ContextBlock {
    return { ...this.describe(), content: text, tokens: estimateStringTokens(text) };
  }

  /**
   * The content for an estimate: as last read, or as the provider gave it when it was asked for one, which it is once and
   * which changes nothing else. Null when it failed, and while it is asked: whoever calls then may be the provider.
   */
  async preview(): Promise<string | null> {
    if (this.#content === null && !this.#previewed) {
      this.#previewed = true;
      try {
        await this.ready();
        this.#preview = (await this.#fetch()).text;
      } catch {
        // Whoever asks for the content itself is told.
      }
    }
    return this.#content?.text ?? this.#preview;
  }

  /** Reads the content anew. */
  async read(): Promise<void> {
    const started = ++this.#clock;
    try {
      await this.ready();
      this.#show(started, await this.#fetch());
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  /** Reads the content anew. The write is done, so a failure is left to whoever asks for the content next. */
  async readAfterWrite(): Promise<void> {
    const [result] = await Promise.allSettled([this.read()]);
    if (result.status === "rejected") this.#content = null;
  }

  /** Takes `text` for the content until the next read. */
  assume(text: string): void {
    this.#content ??= { text, started: 0, arrived: 0, wrote: false };
  }

  async replace(content: string, options: WriteOptions): Promise<void> {
    const provider = this.#writable();
    this.assertBudget(content);
    await this.ready();
    if (isVersioned(provider)) {
      const started = ++this.#clock;
      const stored = await callProvider(this.label, "set", () => provider.set(content, options));
      return this.#show(started, reading(stored), true);
    }
    if (options.expectedVersion !== undefined) {
      const message = `The provider of "${this.label}" keeps no versions; leave expectedVersion out.`;
      throw new StemmaError("INVALID_ARGUMENT", { label: this.label }, message);
    }
    await enqueue(provider, () => this.#set(provider, content));
  }

  async append(text: string): Promise<void> {
    const provider = this.#writable();
    this.assertBudget(text);
    await this.ready();
    if (isVersioned(provider)) {
      const started = ++this.#clock;
      const stored = await callProvider(this.label, "append", () => provider.append(text, { maxTokens: this.cap }));
      return this.#show(started, reading(stored), true);
    }
    await enqueue(provider, async () => {
      const { text: before } = await this.#fetch();
      const whole = appendText(before, text);
      this.assertBudget(whole);
      if (!provider.append) return this.#set(provider, whole);
      const started = ++this.#clock;
      const added = whole.slice(before.length);
      await callProvider(this.label, "append", () => provider.append?.(added, { maxTokens: this.cap }));
      this.#show(started, { text: whole }, true);
    });
  }

  /** Throws `BLOCK_OVER_BUDGET` for a content that is larger than the block may hold, `INVALID_ARGUMENT` for no text at all. */
  assertBudget(content: string): void {
    if (typeof content !== "string") {
      const message = `The content of "${this.label}" is a text; got ${content === null ? "null" : typeof content}.`;
      throw new StemmaError("INVALID_ARGUMENT", { label: this.label }, message);
    }
    const tokens = estimateStringTokens(content);
    if (tokens <= this.cap) return;
    throw new StemmaError(
      "BLOCK_OVER_BUDGET",
      { label: this.label, tokens, maxTokens: this.cap },
      `That would make ${tokens} tokens in "${this.label}", which holds ${this.cap}. Nothing was changed; write less, or replace the content with a shorter one.`,
    );
  }

  readonlyError(): StemmaError {
    return new StemmaError(
      "BLOCK_READONLY",
      { label: this.label },
      `"${this.label}" is read-only: its provider has no set().`,
    );
  }

  async #set(provider: WritableContextProvider, content: string): Promise<void> {
    const started = ++this.#clock;
    await callProvider(this.label, "set", () => provider.set(content));
    this.#show(started, { text: content }, true);
  }

  async #fetch(): Promise<Reading> {
    const { provider } = this;
    if (!isVersioned(provider)) return { text: (await readProvider(this.label, "get", () => provider.get())) ?? "" };
    return reading(await callProvider(this.label, "read", () => provider.read()));
  }

  // Calls overlap and may end out of order. Of two that overlapped, the higher version is the later one; without
  // versions a write counts more than a read, and a read that started later more than one that started earlier.
  #show(started: number, { text, version }: Reading, wrote = false): void {
    const shown = this.#content;
    this.#failure = null;
    if (shown && started <= shown.arrived) {
      const versioned = version !== undefined || shown.version !== undefined;
      const outdated = versioned
        ? (version ?? 0) <= (shown.version ?? 0)
        : !wrote && (shown.wrote || started < shown.started);
      if (outdated) return;
    }
    this.#content = { text, version, started, arrived: ++this.#clock, wrote };
  }

  #writable(): WritableContextProvider {
    const { provider } = this;
    if (isWritable(provider)) return provider;
    if (!isKeyed(provider) || !this.shape.writable) throw this.readonlyError();
    const message = `"${this.label}" holds entries under keys; write one with the set_context tool and a title.`;
    throw new StemmaError("INVALID_ARGUMENT", { label: this.label }, message);
  }
}

interface Reading {
  readonly text: string;
  readonly version?: number | undefined;
}

/** The content as shown, and when the call that brought it started and ended, on the block's own clock. */
interface Content extends Reading {
  readonly started: number;
  readonly arrived: number;
  readonly wrote: boolean;
}

function reading(stored: StoredBlock | null): Reading {
  return stored === null ? { text: "" } : { text: stored.content, version: stored.version };
}

export function notLoaded(): StemmaError {
  const message =
    "The context has not been read yet. Await an asynchronous call first, such as freezeSystemPrompt() or tools().";
  return new StemmaError("CONTEXT_NOT_LOADED", {}, message);
}
