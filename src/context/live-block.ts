import type { z } from "zod";
import { invalid, kindOf, StemmaError } from "../errors.js";
import { assertBudget } from "../model/budget.js";
import { foldLabel } from "../model/fold-label.js";
import { appendText } from "../model/text.js";
import { estimateStringTokens } from "../model/tokens.js";
import type { StoredBlock, VersionOptions } from "../storage/contract.js";
import type { ToolBlock } from "../tools/access.js";
import type { ApproveWrite } from "./approval.js";
import { type ContextBlock, type ContextConfig, DEFAULT_MAX_TOKENS } from "./block.js";
import { BlockContent, type Reading } from "./block-content.js";
import { BlockDocument } from "./block-document.js";
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
import { callProvider, readProvider } from "./provider-call.js";
import { ProviderTurns } from "./provider-turns.js";

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
  /** When the provider is called. */
  readonly turns: ProviderTurns;
  readonly #description: string | undefined;
  readonly #maxTokens: number | undefined;
  readonly #schema: z.ZodObject | undefined;
  /** Whom a tool of the model asks before it writes. */
  readonly approve: ApproveWrite | "user" | undefined;
  /** How many versions a provider that keeps them is to keep. */
  readonly keepVersions: number | undefined;
  readonly #content = new BlockContent();
  #previewed = false;
  #preview: string | null = null;

  /** Providers of the host's are not called unless `open` resolves. */
  constructor(config: ContextConfig, provider: ContextBlockProvider, open: () => Promise<void>) {
    this.label = config.label;
    this.folded = foldLabel(config.label);
    this.reminds = config.whenChanged === "remind";
    this.provider = provider;
    this.shape = shapeOf(provider);
    this.turns = new ProviderTurns(config.label, provider, open);
    this.cap = config.maxTokens ?? DEFAULT_MAX_TOKENS;
    this.#description = config.description;
    this.#maxTokens = config.maxTokens;
    this.keepVersions = config.keepVersions;
    this.approve = config.approve;
    this.document = config.schema === undefined ? null : new BlockDocument(config.label, config.schema);
    this.#schema = config.schema;
  }

  /** What the content is to be, of a block with a schema. */
  readonly document: BlockDocument | null;

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
    const asksUser = this.approve === "user";
    return { ...this.describe(), asksUser, ...(this.#schema !== undefined && { schema: this.#schema }) };
  }

  /** The block as last read. Throws what the read threw when there has been no good one. */
  snapshot(): ContextBlock {
    return this.#show(this.#content.get());
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
    if (this.text === null && !this.#previewed) {
      this.#previewed = true;
      try {
        this.#preview = (await this.turns.atOnce(() => this.#fetch())).text;
      } catch {
        // Whoever asks for the content itself is told.
      }
    }
    return this.text ?? this.#preview;
  }

  /** Reads the content anew. Gives the block as this read found it, whatever is written meanwhile. */
  async read(): Promise<ContextBlock> {
    const started = this.#content.start();
    try {
      const found = await this.turns.reading(() => this.#fetch());
      this.#content.take(started, found);
      // Of a provider that keeps no versions, a write that was under way tells more than a read.
      return this.turns.isOwn ? this.#show(found) : this.snapshot();
    } catch (error) {
      // What the store refuses it is asked again, by whoever comes next.
      if (!this.turns.isOwn || StemmaError.isInstance(error, "PROVIDER_FAILED")) this.#content.fail(error);
      throw error;
    }
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

  /** Gives the block as this write left it. */
  async replace(content: string, options: WriteOptions): Promise<ContextBlock> {
    const provider = this.#writable();
    this.assertBudget(content);
    this.document?.assertFits(content);
    if (!isVersioned(provider) && options.expectedVersion !== undefined) {
      const message = `The provider of "${this.label}" keeps no versions; leave expectedVersion out.`;
      throw invalid(message, { label: this.label });
    }
    return this.turns.writing(() => this.#set(provider, content, options));
  }

  /** The same for text at its end. */
  async append(text: string, options: VersionOptions = {}): Promise<ContextBlock> {
    const provider = this.#writable();
    this.assertBudget(text);
    if (this.document !== null) {
      const rule = "write a JSON Merge Patch, without an action";
      throw this.refusal(`is a JSON object, so nothing can be appended to it: ${rule}`);
    }
    return this.turns.writing(async () => {
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
    if (document === null) throw this.refusal("has no schema, so it cannot be patched: replace its content");
    return this.turns.writing(async () => {
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

  /** Options of a write, with how many versions the block is to keep. */
  noted<O extends VersionOptions>(options: O): O {
    return this.keepVersions === undefined ? options : { ...options, keepVersions: this.keepVersions };
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
    const started = this.#content.start();
    const stored = found(await callProvider(this.label, method, call));
    this.#content.take(started, stored, true);
    return this.#show(stored);
  }

  async #fetch(): Promise<Reading> {
    const { provider } = this;
    if (isVersioned(provider)) return reading(await callProvider(this.label, "read", () => provider.read()));
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

  #writable(): WritableContextProvider {
    const { provider } = this;
    if (isWritable(provider)) return provider;
    if (!isKeyed(provider) || !this.shape.writable) throw this.readonlyError();
    throw this.refusal("holds entries under keys; write one with the set_context tool and a title");
  }
}

function reading(stored: StoredBlock | null): Reading {
  return stored === null ? { text: "" } : { text: stored.content, version: stored.version };
}
