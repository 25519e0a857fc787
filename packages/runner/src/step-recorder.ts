import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isSettled, isToolPart, settleToolCalls, type ToolCallPart, ToolClock } from "@stemma/model";
import type { TextStreamPart, ToolSet } from "ai";
import { errorText } from "./error-text.js";

type Part = SessionMessagePart & Record<string, unknown>;

/** Builds the message of one step out of what the model streams, in the AI SDK's `UIMessage` form. */
export class StepRecorder {
  private readonly parts: Part[] = [];
  private readonly open = new Map<string, Part>();
  private readonly clock = new ToolClock();

  constructor(private readonly id: string) {}

  /** The message as it stands; null while it is empty. */
  message(): SessionMessage | null {
    // Copies: the parts go on changing here.
    const parts = this.parts.filter((part) => part.type !== "text" || part.text !== "").map((part) => ({ ...part }));
    return parts.length === 0 ? null : this.clock.on({ id: this.id, role: "assistant", parts });
  }

  /**
   * The message as it is kept when the step was cut off: what was said and called, unfinished calls marked. Null when that
   * is nothing. Reasoning and provider references are left out: a provider refuses those of a response that never ended.
   */
  interrupted(reason: "aborted" | "error"): SessionMessage | null {
    const parts = this.parts
      .filter((part) => (part.type === "text" && part.text !== "") || isToolPart(part))
      .map(({ providerMetadata: _text, callProviderMetadata: _call, ...part }) => part as SessionMessagePart)
      // It may have been cut in the middle of a character.
      .map((part) => (part.type === "text" ? { ...part, text: (part.text ?? "").toWellFormed() } : part));
    if (parts.length === 0) return null;
    return this.clock.on(settleToolCalls({ id: this.id, role: "assistant", parts, metadata: { interrupted: reason } }));
  }

  /** True while a call waits for its result. */
  get pending(): boolean {
    return this.parts.some((part) => isToolPart(part) && !isSettled(part));
  }

  add(chunk: TextStreamPart<ToolSet>): void {
    switch (chunk.type) {
      case "text-start":
      case "reasoning-start":
        this.start(chunk.id, chunk.type === "text-start" ? "text" : "reasoning");
        this.refer(chunk.id, chunk.providerMetadata);
        return;
      case "text-delta":
      case "reasoning-delta": {
        const part =
          this.open.get(chunk.id) ?? this.start(chunk.id, chunk.type === "text-delta" ? "text" : "reasoning");
        part.text += chunk.text;
        this.refer(chunk.id, chunk.providerMetadata);
        return;
      }
      case "text-end":
      case "reasoning-end":
        this.refer(chunk.id, chunk.providerMetadata);
        this.open.delete(chunk.id);
        return;
      case "file": {
        const { mediaType, base64 } = chunk.file;
        this.push("file", { mediaType, url: `data:${mediaType};base64,${base64}` }, chunk.providerMetadata);
        return;
      }
      case "source": {
        const { type: _type, sourceType, id, providerMetadata, ...source } = chunk;
        this.push(`source-${sourceType}`, { sourceId: id, ...source }, providerMetadata);
        return;
      }
      case "tool-call":
        this.call(chunk);
        return;
      case "tool-result":
        if (chunk.preliminary !== true) {
          this.settle(chunk.toolCallId, { state: "output-available", output: storedForm(chunk.output) });
        }
        return;
      case "tool-error":
        this.settle(chunk.toolCallId, { state: "output-error", errorText: errorText(chunk.error) });
        return;
    }
  }

  private start(id: string, type: string): Part {
    const part: Part = { type, text: "" };
    this.parts.push(part);
    this.open.set(id, part);
    return part;
  }

  private refer(id: string, providerMetadata: unknown): void {
    const part = this.open.get(id);
    if (part !== undefined && providerMetadata !== undefined) part.providerMetadata = providerMetadata;
  }

  private push(type: string, fields: Record<string, unknown>, providerMetadata: unknown): void {
    this.parts.push({ type, ...fields, ...(providerMetadata === undefined ? {} : { providerMetadata }) });
  }

  private call(chunk: Extract<TextStreamPart<ToolSet>, { type: "tool-call" }>): void {
    const { toolCallId, toolName, input, providerExecuted, providerMetadata, invalid, error } = chunk;
    this.clock.called(toolCallId);
    const name = chunk.dynamic ? { type: "dynamic-tool", toolName } : { type: `tool-${toolName}` };
    const state = invalid
      ? { state: "output-error", rawInput: storedForm(input), errorText: errorText(error) }
      : { state: "input-available", input: storedForm(input) };
    this.parts.push({
      ...name,
      toolCallId,
      ...state,
      ...(providerExecuted ? { providerExecuted } : {}),
      ...(providerMetadata === undefined ? {} : { callProviderMetadata: providerMetadata }),
    });
  }

  private settle(toolCallId: string, result: Partial<ToolCallPart>): void {
    // A model may give two calls one id.
    const calls = this.parts.filter((part) => isToolPart(part) && part.toolCallId === toolCallId);
    const part = calls.find((call) => !isSettled(call as unknown as ToolCallPart)) ?? calls.at(-1);
    if (part === undefined) return;
    Object.assign(part, result);
    this.clock.answered(toolCallId);
  }
}

// What JSON makes of it: that is what is read back.
function storedForm(value: unknown): unknown {
  return typeof value === "string" ? value : JSON.parse(JSON.stringify(value) ?? "null");
}
