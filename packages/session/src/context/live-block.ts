// One class: a block in use, with what is known of its content and the order of its provider's calls.
import {
  assertBudget,
  estimateStringTokens,
  foldLabel,
  invalid,
  kindOf,
  once,
  queueOf,
  StemmaError,
} from "@stemma/model";
import type { StoredBlock, VersionOptions } from "@stemma/store";
import type { ToolBlock } from "../tools/tool.js";
import { type ContextBlock, type ContextConfig, DEFAULT_MAX_TOKENS } from "./block.js";
import { BlockDocument } from "./block-document.js";
import { hostCallsOf } from "./host-calls.js";
import {
  type ContextBlockProvider,
  callProvider,
  isVersioned,
  type ProviderShape,
  readProvider,
  shapeOf,
} from "./provider.js";
import { AgentSearchProvider, type EntryPlace, placesOfEntries } from "./providers/agent-search.js";
import { describeScopes } from "./providers/entry-scopes.js";
import { StoreContextProvider } from "./providers/store-context.js";
/** A block with its provider: what was last read or written of it, and what it may hold. */
export class LiveBlock {
  readonly label: string;
  readonly folded: string;
  readonly shape: ProviderShape;
  /** The budget that applies, whether or not the prompt shows one. */
  readonly cap: number;
  /** When the provider is called. */
  readonly order: ProviderOrder;
  /** The form of the content, of a block with a schema. */
  readonly document: BlockDocument | null;
  readonly #content = new BlockContent();
  #reading: Promise<ContextBlock> | null = null;
  #isPreviewed = false;
  #preview: string | null = null;

  /** Providers of the host's are not called unless `open` resolves. */
  constructor(
    readonly config: Omit<ContextConfig, "provider">,
    readonly provider: ContextBlockProvider,
    open: () => Promise<void>,
  ) {
    const { label, maxTokens = DEFAULT_MAX_TOKENS, schema } = config;
    this.label = label;
    this.folded = foldLabel(label);
    const shape = shapeOf(provider);
    const isWritable = !(provider instanceof AgentSearchProvider) || provider.scopes.some(({ writable }) => writable);
    this.shape = { ...shape, writable: shape.writable && isWritable };
    this.order = new ProviderOrder(label, provider, open);
    this.cap = maxTokens;
    this.document = schema === undefined ? null : new BlockDocument(label, schema);
  }

  /** True once the provider has told the content, and has not failed to since. */
  get loaded(): boolean {
    return this.#content.loaded;
  }

  /** True once there is a content to show, or an error that says why there is none. */
  get tried(): boolean {
    return this.#content.tried;
  }

  /** The content as last read; null when there has been no good read. */
  get text(): string | null {
    return this.#content.text;
  }

  /** Describes the block for the model; needs no content. */
  describe(): { label: string; description?: string; maxTokens?: number } & ProviderShape {
    const { description, maxTokens } = this.config;
    return {
      label: this.label,
      ...(description && { description }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...this.shape,
    };
  }

  /** Describes the block for the tools, those that write too. */
  describeForTools(): ToolBlock {
    const patchSchema = this.document?.patchSchema;
    const asksUser = this.config.approve === "user";
    const { provider } = this;
    const keepsFacts = provider instanceof AgentSearchProvider;
    return {
      ...this.describe(),
      asksUser,
      searchesByTime: provider.searchesByTime === true,
      keepsFacts,
      ...(keepsFacts && provider.namesScopes && { scopes: describeScopes(provider.scopes) }),
      ...(patchSchema !== undefined && { patchSchema }),
    };
  }

  /** Where it keeps its entries, scope by scope; empty for a block that keeps none in a store. */
  get entryPlaces(): readonly EntryPlace[] {
    const { provider, label } = this;
    if (!(provider instanceof AgentSearchProvider)) return [];
    // It has its block's label from the first call on.
    provider.init(label);
    return placesOfEntries(provider);
  }

  /** The block as last read. Throws what the read threw when there has been no good one. */
  snapshot(): ContextBlock {
    return this.#show(this.#content.get());
  }

  /** The block with this content. */
  showing(text: string): ContextBlock {
    return this.#show({ text });
  }

  /** The content for an estimate; null where nothing is known. */
  get previewed(): string | null {
    return this.text ?? this.#preview;
  }

  /** True where `preview` need not be called. */
  get hasPreview(): boolean {
    return this.text !== null || this.#isPreviewed;
  }

  /**
   * Asks the provider for the content for an estimate, once, which changes nothing else. Null when it failed, and while it is
   * asked: whoever calls then may be the provider.
   */
  async preview(): Promise<void> {
    this.#isPreviewed = true;
    try {
      this.#preview = (await this.order.atOnce(() => this.fetch())).text;
    } catch {
      // Whoever asks for the content itself is told.
    }
  }

  /** Takes `text` for the answer to that question. */
  assumePreview(text: string): void {
    this.#isPreviewed = true;
    this.#preview = text;
  }

  /** The read of a store of ours that is under way; null without one. A provider of the host's may be waiting for the session itself. */
  get reading(): Promise<ContextBlock> | null {
    return this.#reading;
  }

  /** Reads the content anew. Gives the block as this read found it, whatever is written meanwhile. */
  read(): Promise<ContextBlock> {
    const reading = this.#read();
    if (!this.order.isOwn) return reading;
    const done = () => {
      if (this.#reading === reading) this.#reading = null;
    };
    this.#reading = reading;
    reading.then(done, done);
    return reading;
  }

  async #read(): Promise<ContextBlock> {
    const started = this.start();
    try {
      return this.take(started, await this.order.reading(() => this.fetch()));
    } catch (error) {
      // What the store refuses it is asked again, by whoever comes next.
      if (!this.order.isOwn || StemmaError.isInstance(error, "PROVIDER_FAILED")) this.#content.fail(error);
      throw error;
    }
  }

  /** Notes that a read starts. Gives what `take` needs to know of it. */
  start(): number {
    return this.#content.start();
  }

  /** Notes what a read found. Gives the block as the read found it. */
  take(started: number, found: Reading): ContextBlock {
    this.#content.take(started, found);
    // Of a provider that keeps no versions, a write that was under way tells more than a read.
    return this.order.isOwn ? this.#show(found) : this.snapshot();
  }

  /** Reads the content anew. The write is done, so a failure is left to whoever asks for the content next. */
  async readAfterWrite(): Promise<void> {
    const [result] = await Promise.allSettled([this.read()]);
    if (result.status === "rejected") this.#content.forget();
  }

  /** Takes `text` for the content until the next read. */
  assume(text: string): void {
    this.#content.assume(text);
  }

  /** Options of a write, with how many versions the block is to keep. */
  noted<O extends VersionOptions>(options: O): O {
    const { keepVersions } = this.config;
    return keepVersions === undefined ? options : { ...options, keepVersions };
  }

  /** Throws `BLOCK_OVER_BUDGET` for a content that is larger than the block may hold, `INVALID_ARGUMENT` for no text at all. */
  assertBudget(content: string): void {
    if (typeof content !== "string") {
      throw invalid(`The content of "${this.label}" must be a text; got ${kindOf(content)}.`, { label: this.label });
    }
    assertBudget(this.label, content, this.cap);
  }

  readonlyError(): StemmaError {
    const message = `"${this.label}" is read-only: its provider has no set().`;
    return new StemmaError("BLOCK_READONLY", { label: this.label }, message);
  }

  /** The error for what such a block is not asked for; `why` goes on with the sentence that its label begins. */
  refusal(why: string): StemmaError {
    return invalid(`"${this.label}" ${why}.`, { label: this.label });
  }

  /** Calls a method of the provider's that writes. Gives the block as this write left it: what `found` makes of the answer. */
  async stored<T>(
    method: string,
    call: () => T | PromiseLike<T>,
    found: (answer: T) => Reading,
  ): Promise<ContextBlock> {
    const started = this.#content.start();
    const reading = found(await callProvider(this.label, method, call));
    this.#content.take(started, reading, true);
    return this.#show(reading);
  }

  /** Asks the provider for the content, which is not noted. */
  async fetch(): Promise<Reading> {
    const { provider } = this;
    if (isVersioned(provider)) return readingOf(await callProvider(this.label, "read", () => provider.read()));
    return { text: (await readProvider(this.label, "get", () => provider.get())) ?? "" };
  }

  #show({ text, version }: Reading): ContextBlock {
    return {
      ...this.describe(),
      content: text,
      tokens: estimateStringTokens(text),
      ...(version !== undefined && { version }),
    };
  }
}

export function readingOf(stored: StoredBlock | null): Reading {
  return stored === null ? { text: "" } : { text: stored.content, version: stored.version };
}

/** When a block's provider is called: reads after the writes that were called before them. */
class ProviderOrder {
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

  /** Runs a call that reads: after the writes that `earlier` waits for. No write waits for it. */
  async reading<T>(call: () => Promise<T>): Promise<T> {
    const earlier = this.earlier();
    if (earlier !== null) await earlier;
    return this.atOnce(call);
  }

  /**
   * Waits for the writes to a provider of the host's that were called before. Null when there is nothing to wait for, or
   * when this may be called from within such a write, which would wait for itself.
   */
  earlier(): Promise<void> | null {
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

/** A block's content as its provider gave it, with the version where it keeps versions. */
export interface Reading {
  readonly text: string;
  readonly version?: number | undefined;
}

/** The content as shown, and when the call that brought it started and ended, on the block's own clock. */
interface Shown extends Reading {
  readonly started: number;
  readonly arrived: number;
  readonly wrote: boolean;
}

/** The latest known content of a block, whatever reads and writes of it overlap and end out of order. */
class BlockContent {
  #shown: Shown | null = null;
  #failure: unknown = null;
  #clock = 0;

  /** True once the provider has told the content, and has not failed to since. */
  get loaded(): boolean {
    return this.#shown !== null && this.#shown.arrived > 0 && this.#failure === null;
  }

  /** True once there is a content to show, or an error that says why there is none. */
  get tried(): boolean {
    return this.#shown !== null || this.#failure !== null;
  }

  /** Null when there has been no good read. */
  get text(): string | null {
    return this.#shown?.text ?? null;
  }

  /** Throws what the read threw when there has been no good one, and `CONTEXT_NOT_LOADED` when there was none. */
  get(): Reading {
    if (this.#shown !== null) return this.#shown;
    throw this.#failure ?? notLoaded();
  }

  /** Notes that a call starts. Gives what `take` needs to know of it. */
  start(): number {
    return ++this.#clock;
  }

  // Of two calls that overlapped, the higher version is the later one; without versions a write counts more than a read, and a
  // read that started later more than one that started earlier.
  take(started: number, { text, version }: Reading, wrote = false): void {
    const shown = this.#shown;
    this.#failure = null;
    if (shown && started <= shown.arrived) {
      const versioned = version !== undefined || shown.version !== undefined;
      const outdated = versioned
        ? (version ?? 0) <= (shown.version ?? 0)
        : !wrote && (shown.wrote || started < shown.started);
      if (outdated) return;
    }
    this.#shown = { text, version, started, arrived: ++this.#clock, wrote };
  }

  /** Takes `text` for the content until the next read, where nothing is known. */
  assume(text: string): void {
    this.#shown ??= { text, started: 0, arrived: 0, wrote: false };
  }

  /** Notes that a read failed. What was read before is still shown. */
  fail(error: unknown): void {
    this.#failure = error;
  }

  /** Drops what is shown: it is out of date. */
  forget(): void {
    this.#shown = null;
  }
}

export function notLoaded(): StemmaError {
  const message =
    "The context has not been read yet. Await an asynchronous call first, such as freezeSystemPrompt() or tools().";
  return new StemmaError("CONTEXT_NOT_LOADED", {}, message);
}
