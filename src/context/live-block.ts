import type { z } from "zod";
import { StemmaError } from "../errors.js";
import { appendText } from "../model/text.js";
import { estimateStringTokens } from "../model/tokens.js";
import { queueOf } from "../queue.js";
import type { StoredBlock, VersionOptions } from "../storage/contract.js";
import type { ToolBlock } from "../tools/access.js";
import { type ContextBlock, type ContextConfig, DEFAULT_MAX_TOKENS } from "./block.js";
import { BlockDocument } from "./block-document.js";
import { hostCallsOf } from "./host-calls.js";
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
import { callProvider, once, readProvider } from "./provider-call.js";
import { AgentSearchProvider } from "./providers/agent-search.js";
import { StoreContextProvider } from "./providers/store-context.js";

/** How often a patch is applied anew because someone else wrote in between. */
const MAX_PATCHES = 50;

/** A block with its provider: what was last read of it, and the writes that keep to its budget. */
export class LiveBlock {
  readonly label: string;
  readonly folded: string;
  readonly reminds: boolean;
  readonly provider: ContextBlockProvider;
  readonly shape: ProviderShape;
  /** The budget that applies, whether or not the prompt shows one. */
  readonly cap: number;
  /** True for one of our own, which hands each call to its store at once; the store puts them in order. */
  readonly isOwn: boolean;
  /** Lets a provider of the host's prepare itself, once; a failed attempt is made again by the next call. */
  readonly #ready: () => Promise<void>;
  readonly #open: () => Promise<void>;
  readonly #description: string | undefined;
  readonly #maxTokens: number | undefined;
  readonly #schema: z.ZodObject | undefined;
  /** How many versions a provider that keeps them is to keep. */
  readonly keepVersions: number | undefined;
  #content: Content | null = null;
  #failure: unknown = null;
  #clock = 0;
  #previewed = false;
  #preview: string | null = null;

  /** Providers of the host's are not called unless `open` resolves. */
  constructor(config: ContextConfig, provider: ContextBlockProvider, open: () => Promise<void>) {
    this.label = config.label;
    this.folded = foldLabel(config.label);
    this.reminds = config.whenChanged === "remind";
    this.provider = provider;
    this.shape = shapeOf(provider);
    this.isOwn = provider instanceof StoreContextProvider || provider instanceof AgentSearchProvider;
    this.#open = open;
    this.#ready = once(() => callProvider(this.label, "init", () => provider.init?.(this.label)));
    this.cap = config.maxTokens ?? DEFAULT_MAX_TOKENS;
    this.#description = config.description;
    this.#maxTokens = config.maxTokens;
    this.keepVersions = config.keepVersions;
    this.document = config.schema === undefined ? null : new BlockDocument(config.label, config.schema);
    this.#schema = config.schema;
  }

  /** What the content is to be, of a block with a schema. */
  readonly document: BlockDocument | null;

  /** True once the provider has told the content, and has not failed to since. */
  get loaded(): boolean {
    return this.#content !== null && this.#content.arrived > 0 && this.#failure === null;
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

  /** The same, with what only a tool that writes needs to tell. */
  describeForTools(): ToolBlock {
    return { ...this.describe(), ...(this.#schema !== undefined && { schema: this.#schema }) };
  }

  /** The block as last read. Throws what the read threw when there has been no good one. */
  snapshot(): ContextBlock {
    if (this.#content !== null) return this.#show(this.#content);
    if (this.#failure !== null) throw this.#failure;
    throw notLoaded();
  }

  /** The block with this content. */
  showing(text: string): ContextBlock {
    return this.#show({ text });
  }

  /**
   * The content for an estimate: as last read, or as the provider gave it when it was asked for one, which it is once and
   * which changes nothing else. Null when it failed, and while it is asked: whoever calls then may be the provider.
   */
  async preview(): Promise<string | null> {
    if (this.#content === null && !this.#previewed) {
      this.#previewed = true;
      try {
        const fetch = () => this.#fetch();
        const { text } = await (this.isOwn ? this.#prepared(fetch) : this.#prepare().then(fetch));
        this.#preview = text;
      } catch {
        // Whoever asks for the content itself is told.
      }
    }
    return this.#content?.text ?? this.#preview;
  }

  /** Reads the content anew. Gives the block as this read found it, whatever is written meanwhile. */
  async read(): Promise<ContextBlock> {
    const started = ++this.#clock;
    try {
      const found = await this.reading(() => this.#fetch());
      this.#take(started, found);
      // Of a provider that keeps no versions, a write that was under way tells more than a read.
      return this.isOwn ? this.#show(found) : this.snapshot();
    } catch (error) {
      // What the store refuses it is asked again, by whoever comes next.
      if (!this.isOwn || StemmaError.isInstance(error, "PROVIDER_FAILED")) this.#failure = error;
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

  /** Gives the block as this write left it. */
  async replace(content: string, options: WriteOptions): Promise<ContextBlock> {
    const provider = this.#writable();
    this.assertBudget(content);
    this.document?.assertFits(content);
    if (!isVersioned(provider) && options.expectedVersion !== undefined) {
      const message = `The provider of "${this.label}" keeps no versions; leave expectedVersion out.`;
      throw new StemmaError("INVALID_ARGUMENT", { label: this.label }, message);
    }
    return this.writing(() => this.#set(provider, content, options));
  }

  /** The same for text at its end. */
  async append(text: string, options: VersionOptions = {}): Promise<ContextBlock> {
    const provider = this.#writable();
    this.assertBudget(text);
    if (this.document !== null) throw this.#appendError();
    return this.writing(async () => {
      if (isVersioned(provider)) {
        return this.#write(
          "append",
          () => provider.append(text, this.noted({ ...options, maxTokens: this.cap })),
          reading,
        );
      }
      const { text: before } = await this.#fetch();
      const whole = appendText(before, text);
      this.assertBudget(whole);
      if (!provider.append) return this.#set(provider, whole, {});
      const added = whole.slice(before.length);
      return this.#write(
        "append",
        () => provider.append?.(added, { maxTokens: this.cap }),
        () => ({ text: whole }),
      );
    });
  }

  /** The same for a JSON Merge Patch of a block with a schema. Patches of several writers are all applied. */
  async patch(patch: unknown, options: VersionOptions): Promise<ContextBlock> {
    const provider = this.#writable();
    const { document } = this;
    if (document === null) {
      const message = `"${this.label}" has no schema, so its content is not patched but replaced.`;
      throw new StemmaError("INVALID_ARGUMENT", { label: this.label }, message);
    }
    return this.writing(async () => {
      for (let attempt = 1; ; attempt += 1) {
        const { text, version = 0 } = await this.#fetch();
        const content = document.patched(text, patch);
        this.assertBudget(content);
        const expected = isVersioned(provider) ? { expectedVersion: version } : {};
        try {
          return await this.#set(provider, content, { ...options, ...expected });
        } catch (error) {
          // Someone else wrote in between: the patch is applied to that.
          if (attempt === MAX_PATCHES || !StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
        }
      }
    });
  }

  /**
   * Runs calls of the provider that write. Those of a provider of the host's that keeps no versions run one after another,
   * in the order of the calls of this method.
   */
  writing<T>(calls: () => Promise<T>): Promise<T> {
    if (this.isOwn) return this.#prepared(calls);
    const { provider } = this;
    const work = async () => {
      await this.#prepare();
      return calls();
    };
    // It tells by its versions which of several writes was the last.
    if (isVersioned(provider)) return work();
    return queueOf(provider).write("", () => hostCallsOf(provider).run("", work));
  }

  /** Runs a call that reads: after the writes that `turn` waits for. No write waits for it. */
  async reading<T>(call: () => Promise<T>): Promise<T> {
    if (this.isOwn) return this.#prepared(call);
    const turn = this.turn();
    if (turn !== null) await turn;
    await this.#prepare();
    return call();
  }

  /**
   * Waits for the writes to a provider of the host's that were called before. Null when there is nothing to wait for, or
   * when this may be called from within such a write, which would wait for itself.
   */
  turn(): Promise<void> | null {
    const { provider } = this;
    const queue = queueOf(provider);
    return this.isOwn || queue.size === 0 || hostCallsOf(provider).mayBeCalling("")
      ? null
      : queue.read("", async () => {});
  }

  /** Options of a write, with how many versions the block is to keep. */
  noted<O extends VersionOptions>(options: O): O {
    return this.keepVersions === undefined ? options : { ...options, keepVersions: this.keepVersions };
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

  #appendError(): StemmaError {
    const message = `"${this.label}" is a JSON object, to which nothing is appended: write a JSON Merge Patch, without an action.`;
    return new StemmaError("INVALID_ARGUMENT", { label: this.label }, message);
  }

  #set(provider: WritableContextProvider, content: string, options: WriteOptions): Promise<ContextBlock> {
    if (isVersioned(provider)) return this.#write("set", () => provider.set(content, this.noted(options)), reading);
    return this.#write(
      "set",
      () => provider.set(content),
      () => ({ text: content }),
    );
  }

  async #write<T>(
    method: string,
    call: () => T | PromiseLike<T>,
    found: (stored: T) => Reading,
  ): Promise<ContextBlock> {
    const started = ++this.#clock;
    const stored = found(await callProvider(this.label, method, call));
    this.#take(started, stored, true);
    return this.#show(stored);
  }

  async #fetch(): Promise<Reading> {
    const { provider } = this;
    if (isVersioned(provider)) return reading(await callProvider(this.label, "read", () => provider.read()));
    return { text: (await readProvider(this.label, "get", () => provider.get())) ?? "" };
  }

  // Ours need no time to prepare themselves.
  #prepared<T>(calls: () => Promise<T>): Promise<T> {
    this.provider.init?.(this.label);
    return calls();
  }

  async #prepare(): Promise<void> {
    await this.#open();
    await this.#ready();
  }

  #show({ text, version }: Reading): ContextBlock {
    return {
      ...this.describe(),
      content: text,
      tokens: estimateStringTokens(text),
      ...(version !== undefined && { version }),
    };
  }

  // Calls overlap and may end out of order. Of two that overlapped, the higher version is the later one; without
  // versions a write counts more than a read, and a read that started later more than one that started earlier.
  #take(started: number, { text, version }: Reading, wrote = false): void {
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
