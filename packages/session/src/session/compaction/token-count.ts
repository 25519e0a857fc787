import type { CompactContext, SessionMessage } from "@stemma/model";
import {
  type CounterErrorHandler,
  countOrEstimate,
  estimateStringTokens,
  estimateTokensInPieces,
  StemmaError,
} from "@stemma/model";
import type { ContextBlock } from "../../context/block.js";
import type { SessionContext } from "../../context/session-context.js";
import type { SessionBackend } from "../own-provider/provider.js";
import { LimitedCalls } from "./time-limit.js";

/** Measures what a request to the model holds of the session. */
export type TokenCounter = (input: TokenCounterInput) => number | Promise<number>;

export interface TokenCounterInput {
  messages: SessionMessage[];
  /** The frozen prompt; what the blocks would make of it when none was frozen. "" without blocks. */
  systemPrompt: string;
  contextBlocks: ContextBlock[];
}

/** How large a session is: what a counter of the host's says may not grow with the history. */
export interface Size {
  /** The number that the trigger compares with the threshold. */
  readonly tokens: number;
  /** The visible messages, as estimated. */
  readonly messages: number;
}

/**
 * Counts the tokens of a session: its visible messages and its prompt. What the trigger, the status events and
 * `tokensBefore` say comes from here, so that they say the same. A counter or a block that does not answer in time is
 * reported once, and counted as estimated or as last seen: no write waits for it longer, and none after it waits at all.
 */
export class TokenCount {
  #prompt = { text: "", tokens: 0 };
  #reported = false;
  #toldOfBlocks = false;
  readonly #counterCalls: LimitedCalls;
  readonly #blockCalls: LimitedCalls;

  constructor(
    private readonly backend: SessionBackend,
    private readonly context: SessionContext,
    private readonly counter: TokenCounter | null,
    private readonly onCounterError: CounterErrorHandler,
    timeout: number,
  ) {
    this.#counterCalls = new LimitedCalls("The tokenCounter", timeout);
    this.#blockCalls = new LimitedCalls("A block of the context", timeout);
  }

  /** Of the active path. `visibleTokens` are those of its messages as estimated; null when they must be measured. */
  async ofActivePath(visibleTokens: number | null): Promise<Size> {
    if (this.counter !== null) {
      const { messages } = await this.backend.path();
      return { tokens: await this.of(messages), messages: visibleTokens ?? (await estimateTokensInPieces(messages)) };
    }
    const messages = visibleTokens ?? (await this.backend.tokens());
    return { tokens: messages + this.#promptTokens(await this.#systemPrompt()), messages };
  }

  /** Of a visible history. */
  async of(messages: SessionMessage[]): Promise<number> {
    const systemPrompt = await this.#systemPrompt();
    if (this.counter === null) return this.#estimate(messages, systemPrompt);
    const contextBlocks = await this.#answered(() => this.context.prompt.estimatedBlocks(), []);
    return this.#count({ messages, systemPrompt, contextBlocks });
  }

  /** The context of a compact function: the counter that decides when also decides what. */
  async compactContext(threshold: number | null): Promise<CompactContext> {
    const onCounterError = this.#report;
    const limits = threshold === null ? {} : { tokenThreshold: threshold, promptTokens: await this.ofPrompt() };
    if (this.counter === null) return { onCounterError, ...limits };
    const added =
      threshold === null ? 0 : await this.#counted({ messages: [], systemPrompt: "", contextBlocks: [] }, 0);
    return {
      onCounterError,
      ...limits,
      tokenCounter: async (input) => {
        const { messages, systemPrompt = "", contextBlocks = [] } = Array.isArray(input) ? { messages: input } : input;
        const tokens = await this.#count({ messages, systemPrompt, contextBlocks } as TokenCounterInput);
        // What is added to every request is no message's, unless the counter tells no messages apart.
        return systemPrompt === "" && tokens > added ? tokens - added : tokens;
      },
    };
  }

  /** Of a request without its messages. */
  async ofPrompt(): Promise<number> {
    const systemPrompt = await this.#systemPrompt();
    const tokens = this.#promptTokens(systemPrompt);
    if (this.counter === null) return tokens;
    const contextBlocks = await this.#answered(() => this.context.prompt.estimatedBlocks(), []);
    return this.#counted({ messages: [], systemPrompt, contextBlocks }, tokens);
  }

  // Of a request without messages, which a counter need not expect.
  #counted(input: TokenCounterInput, otherwise: number): Promise<number> {
    return countOrEstimate(
      () => this.#counterCalls.run(() => (this.counter as TokenCounter)(input)),
      () => otherwise,
    );
  }

  #count(input: TokenCounterInput): Promise<number> {
    const { messages, systemPrompt } = input;
    return countOrEstimate(
      () => this.#counterCalls.run(() => (this.counter as TokenCounter)(input)),
      () => this.#estimate(messages, systemPrompt),
      this.#report,
    );
  }

  async #estimate(messages: readonly SessionMessage[], systemPrompt: string): Promise<number> {
    return (await estimateTokensInPieces(messages)) + this.#promptTokens(systemPrompt);
  }

  async #systemPrompt(): Promise<string> {
    const { prompt } = this.context;
    return prompt.atHand ?? this.#answered(() => prompt.estimated(), this.#prompt.text);
  }

  async #answered<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await this.#blockCalls.run(ask);
    } catch (error) {
      if (!StemmaError.isInstance(error, "COMPACTION_TIMEOUT")) throw error;
      if (!this.#toldOfBlocks) {
        this.#toldOfBlocks = true;
        await this.onCounterError(error);
      }
      return otherwise;
    }
  }

  #promptTokens(text: string): number {
    if (this.#prompt.text !== text) this.#prompt = { text, tokens: estimateStringTokens(text) };
    return this.#prompt.tokens;
  }

  // A counter that is wrong once is wrong at every write.
  readonly #report: CounterErrorHandler = async (error) => {
    if (this.#reported) return;
    this.#reported = true;
    await this.onCounterError(error);
  };
}
