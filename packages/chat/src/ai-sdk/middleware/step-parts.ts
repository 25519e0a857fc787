import { urlOf } from "./prompt-parts.js";
import type { Generated, Part, StreamPart } from "./sdk-types.js";

type Chunk = StreamPart | Generated["content"][number];

interface Written {
  type: "text" | "reasoning";
  text: string;
  state: "streaming" | "done";
  providerMetadata?: unknown;
}

/** The parts of one step, as `useChat` would have them, of what a model gives: of its chunks, or of its whole content. */
export class StepParts {
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
