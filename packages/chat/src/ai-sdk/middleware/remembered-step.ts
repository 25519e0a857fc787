import { type SessionMessage, ToolClock } from "@stemma/model";
import type { KeptWrite } from "@stemma/store";
import type { UIMessage } from "ai";
import { hasContent, type Interruption, marked, settled, tidied } from "../message/parts.js";
import type { PlacedTurn } from "./place-prompt.js";
import { urlOf } from "./prompt-parts.js";
import type { CallParams, Generated, Part, StreamPart } from "./sdk-types.js";
import type { TurnPrompt } from "./turn-prompt.js";

/** A turn as its next step finds it. */
export interface Turn {
  readonly placed: PlacedTurn;
  readonly prompt: TurnPrompt;
  /** Stops listening for the abort of a call whose tools run. */
  readonly forget: () => void;
}

interface StepContext {
  readonly turn: Turn;
  readonly params: CallParams;
  readonly sessionId: string;
  readonly model: string;
  readonly write: (writes: readonly KeptWrite[]) => Promise<void>;
  readonly report: (error: unknown) => void;
  /** Told once, after the step was stored, of the turn that the next step goes on with. */
  readonly ended: (next: Turn | null) => Promise<void>;
}

type Usage = Generated["usage"];

/** One call of a model, from its prompt until what it gave is stored. */
export class RememberedStep {
  readonly #parts = new StepParts();
  readonly #clock = new ToolClock();
  #usage: Usage | undefined;
  #model: string;
  #end: Promise<unknown> | null = null;

  constructor(private readonly context: StepContext) {
    this.#model = context.model;
  }

  /** The call with the prompt of the session. */
  get params(): CallParams {
    return this.context.params;
  }

  get isAborted(): boolean {
    return this.context.params.abortSignal?.aborted === true;
  }

  /** Takes what the model gives: a chunk, or a part of its whole content. */
  add(chunk: StreamPart | Generated["content"][number]): void {
    if (this.#end !== null) return;
    if (chunk.type === "finish") this.#usage = chunk.usage;
    else if (chunk.type === "response-metadata") this.#model = chunk.modelId ?? this.#model;
    else if (chunk.type === "tool-call") this.#clock.called(chunk.toolCallId);
    this.#parts.add(chunk);
  }

  addAll({ content, usage, response }: Generated): void {
    for (const part of content) this.add(part);
    this.#usage = usage;
    this.#model = response?.modelId ?? this.#model;
  }

  /**
   * Stores what was taken, once; a second call waits for the first. `interrupted` says why it is not whole. Never rejects:
   * resolves to the error that storing failed with, or null.
   */
  end(interrupted: Interruption | null): Promise<unknown> {
    this.#end ??= this.#store(interrupted);
    return this.#end;
  }

  async #store(interrupted: Interruption | null): Promise<unknown> {
    const { turn, report, ended } = this.context;
    const { placed, prompt } = turn;
    const { answer: before } = placed;
    const answer = this.#clock.on({ ...before, parts: [...before.parts, ...this.#parts.parts] } as UIMessage);
    const failure = await this.#write(finished(answer, interrupted));
    if (failure !== null) report(failure);
    const goesOn = interrupted === null && this.#parts.hasCalls;
    await ended(goesOn ? { prompt, placed, forget: this.#whenAborted(answer) } : null).catch(report);
    return failure;
  }

  async #write(answer: UIMessage): Promise<unknown> {
    const { sessionId, write, turn } = this.context;
    const parent = turn.placed.questionId ?? undefined;
    const upsert: KeptWrite = { session: sessionId, upsert: answer as SessionMessage, parent };
    const writes = [...(hasContent(answer) ? [upsert] : []), ...this.#usageWrites()];
    try {
      if (writes.length > 0) await write(writes);
      return null;
    } catch (error) {
      return error;
    }
  }

  #usageWrites(): KeptWrite[] {
    const inputTokens = this.#usage?.inputTokens?.total ?? 0;
    const outputTokens = this.#usage?.outputTokens?.total ?? 0;
    if (inputTokens + outputTokens === 0) return [];
    return [{ registered: this.context.sessionId, usage: { inputTokens, outputTokens, cost: 0 }, model: this.#model }];
  }

  // While the tools of a step run, no call of the model is there to be told.
  #whenAborted(answer: UIMessage): () => void {
    const signal = this.context.params.abortSignal;
    const mark = (): void => {
      void this.#write(marked(answer, "aborted")).then((failure) => failure !== null && this.context.report(failure));
    };
    if (signal?.aborted) mark();
    signal?.addEventListener("abort", mark, { once: true });
    return () => signal?.removeEventListener("abort", mark);
  }
}

function finished(answer: UIMessage, interrupted: Interruption | null): UIMessage {
  if (interrupted === null) return answer;
  const whole = tidied(answer);
  return marked(interrupted === "aborted" ? settled(whole) : whole, interrupted);
}

type Chunk = StreamPart | Generated["content"][number];

interface Written {
  type: "text" | "reasoning";
  text: string;
  state: "streaming" | "done";
  providerMetadata?: unknown;
}

/** The parts of one step, as `useChat` would have them, of what a model gives: of its chunks, or of its whole content. */
class StepParts {
  readonly #parts: object[] = [];
  readonly #open = new Map<string, Written>();

  /** Begins with the start of the step; empty when the model gave nothing. */
  get parts(): Part[] {
    const begin = this.#parts.length === 0 ? [] : [{ type: "step-start" }];
    return [...begin, ...this.#parts.map((part) => ({ ...part }))] as Part[];
  }

  /** True when the model called tools that somebody else runs: it will be asked again. */
  get hasCalls(): boolean {
    return this.#parts.some((part) => "toolCallId" in part && !("providerExecuted" in part && part.providerExecuted));
  }

  add(chunk: Chunk): void {
    switch (chunk.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(chunk.type === "text-start" ? "text" : "reasoning", chunk.id, chunk.providerMetadata);
        return;
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        this.#goOn(chunk);
        return;
      case "text":
      case "reasoning": {
        const { type, text, providerMetadata } = chunk;
        this.#parts.push({ type, text, state: "done", ...defined({ providerMetadata }) });
        return;
      }
      case "tool-call":
        this.#call(chunk);
        return;
      case "tool-result":
        this.#result(chunk);
        return;
      case "source": {
        const { sourceType, id: sourceId, type: _type, ...source } = chunk;
        this.#parts.push({ type: `source-${sourceType}`, sourceId, ...defined(source) });
        return;
      }
      default:
        this.#other(chunk);
    }
  }

  #begin(type: Written["type"], id: string, providerMetadata: unknown): void {
    const part: Written = { type, text: "", state: "streaming", ...defined({ providerMetadata }) };
    this.#open.set(`${type}-${id}`, part);
    this.#parts.push(part);
  }

  #goOn(chunk: { type: string; id: string; delta?: string; providerMetadata?: unknown }): void {
    const [type, what] = chunk.type.split("-");
    const part = this.#open.get(`${type}-${chunk.id}`);
    if (part === undefined) return;
    part.text += chunk.delta ?? "";
    if (chunk.providerMetadata !== undefined) part.providerMetadata = chunk.providerMetadata;
    if (what === "end") part.state = "done";
  }

  #call(chunk: Extract<Chunk, { type: "tool-call" }>): void {
    const { toolCallId, toolName, providerExecuted, dynamic, providerMetadata } = chunk;
    const call = {
      ...(dynamic === true ? { type: "dynamic-tool", toolName } : { type: `tool-${toolName}` }),
      toolCallId,
      ...defined({ providerExecuted, callProviderMetadata: providerMetadata }),
    };
    const input = parsed(chunk.input);
    const unread = { state: "output-error", rawInput: chunk.input, errorText: `The input of ${toolName} is no JSON.` };
    this.#parts.push(input === undefined ? { ...call, ...unread } : { ...call, state: "input-available", input });
  }

  // Of a tool that the provider ran.
  #result(chunk: Extract<Chunk, { type: "tool-result" }>): void {
    const at = this.#parts.findLastIndex((part) => "toolCallId" in part && part.toolCallId === chunk.toolCallId);
    if (at < 0) return;
    const { result, isError, preliminary, providerMetadata } = chunk;
    const text = typeof result === "string" ? result : JSON.stringify(result);
    const outcome =
      isError === true ? { state: "output-error", errorText: text } : { state: "output-available", output: result };
    const known = defined({ preliminary, resultProviderMetadata: providerMetadata });
    this.#parts[at] = { ...this.#parts[at], ...outcome, ...known };
  }

  #other(chunk: Chunk): void {
    const { type, mediaType, data, kind, providerMetadata } = chunk as {
      readonly type: string;
      readonly mediaType?: string;
      readonly data?: unknown;
      readonly kind?: string;
      readonly providerMetadata?: unknown;
    };
    if (type === "custom") this.#parts.push({ type, kind, ...defined({ providerMetadata }) });
    if (type !== "file" && type !== "reasoning-file") return;
    const url = urlOf(data, mediaType);
    if (url !== null) this.#parts.push({ type, mediaType, url, ...defined({ providerMetadata }) });
  }
}

function parsed(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
