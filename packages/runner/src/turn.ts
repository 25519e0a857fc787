// One turn of the runner, whole: the request that is made, its steps, and how these are recorded.
import { stepResults } from "@stemma/chat";
import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import {
  type Deferred,
  defer,
  isSettled,
  isToolPart,
  StemmaError,
  sendable,
  settleToolCalls,
  type ToolCallPart,
  ToolClock,
  unlessAborted,
} from "@stemma/model";
import { StepUpdates } from "@stemma/session";
import type { LanguageModel, ModelMessage, StopCondition, TextStreamPart, ToolSet } from "ai";
import type { TurnLog, TurnOptions } from "./create-options.js";
import { toSDKMessages } from "./messages/sdk-message.js";
import { addUsage, loadAiSdk, NO_USAGE, usageOf } from "./models/model.js";
import { errorText, guardTools } from "./tools/agent-tools.js";
import type { AgentEvent, ExtendedUsageInfo, StopReason } from "./types.js";

/**
 * One turn: asks the model, runs its tools, asks again, until it is done. A call is stored before its tool runs, its
 * result before it is reported, a step before the model is asked again. However the turn ends, aborted or left in the
 * middle, what was finished is stored and no call is left without a result.
 */
export async function* runTurn(log: TurnLog, options: TurnOptions): AsyncGenerator<AgentEvent, void, undefined> {
  const { streamText: stream } = await loadAiSdk();
  const { signal, prices, maxTurns } = options;
  const steps = new Gates();
  // Of one step: a model may use the id of an earlier step's call again.
  let calls = new Gates();
  const ready = (toolCallId: string) => unlessAborted(calls.pass(toolCallId), signal);
  // What fails in the storage comes back as a failure of the stream, and is told apart by this.
  let storageFailure: { error: unknown } | null = null;
  const stored = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      storageFailure = { error };
      throw error;
    });
  const newUpdates = () => new StepUpdates(() => log.update(), stepResults(options.model));
  let updates = newUpdates();
  const call = {
    ...options.settings,
    model: options.model as LanguageModel,
    ...promptOf(await log.request()),
    tools: guardTools(options.tools, ready, options.approve, options) as ToolSet,
    allowSystemInMessages: true,
    stopWhen: (({ steps }) => steps.length >= maxTurns) as StopCondition<ToolSet>,
    abortSignal: signal,
    prepareStep: async ({ stepNumber, messages }: { stepNumber: number; messages: ModelMessage[] }) => {
      if (stepNumber > 0) await unlessAborted(steps.pass(String(stepNumber)), signal);
      if (log.rewritten()) {
        updates = newUpdates();
        return promptOf(await stored(log.request()));
      }
      const updated = await stored(updates.before(stepNumber, messages));
      return updated === null ? {} : { messages: updated };
    },
    // Errors come through the stream; by default the AI SDK prints them as well.
    onError: () => {},
  };

  let step = new StepRecorder(crypto.randomUUID());
  let count = 0;
  let usage: ExtendedUsageInfo = NO_USAGE;
  let reason: StopReason = "end_turn";
  let failure: Error | null = null;
  let settled = false;
  const cutOff = async () => {
    const rest = settled ? null : step.interrupted(failure === null ? "aborted" : "error");
    settled = true;
    if (rest !== null) await log.write(rest);
    return rest;
  };

  try {
    for await (const chunk of chunksOf(() => stream(call).fullStream, signal)) {
      step.add(chunk);
      if (chunk.type === "error") {
        if (storageFailure !== null) throw (storageFailure as { error: unknown }).error;
        failure = asError(chunk.error);
        break;
      }
      if (chunk.type === "abort") break;
      if (chunk.type === "finish-step") {
        failure = failureOf(chunk);
        const message = failure === null ? step.message() : null;
        if (message !== null) await log.write(message);
        const spent = usageOf(chunk.usage, prices);
        usage = addUsage(usage, spent);
        await log.addUsage(spent, chunk.response.modelId);
        if (failure !== null) break;
        count += 1;
        reason = stopReason(chunk.finishReason, step.pending, count >= maxTurns);
        step = new StepRecorder(crypto.randomUUID());
        calls = new Gates();
        steps.open(String(count));
        for (const part of message === null ? [] : toSDKMessages([message])) yield { type: "message", message: part };
        continue;
      }
      const event = eventOf(chunk);
      if (event === null) continue;
      if (event.type !== "text") await log.write(step.message() as SessionMessage);
      if (event.type === "tool_use") calls.open(event.id);
      yield event;
    }
    if (signal.aborted) reason = "aborted";
    if (failure !== null) reason = "error";
    const rest = await cutOff();
    for (const message of rest === null ? [] : toSDKMessages([rest])) yield { type: "message", message };
    if (failure !== null) yield { type: "error", error: failure };
    yield { type: "stop", stop_reason: reason, usage };
  } finally {
    // The consumer may have left, or a write may have failed.
    await cutOff();
  }
}

// An empty prompt is none.
function promptOf({ system, messages }: { readonly system: string; readonly messages: ModelMessage[] }) {
  return sendable(system === "" ? { messages } : { system, messages });
}

/** Points that one side waits at until the other has come there too. */
class Gates {
  private readonly gates = new Map<string, Deferred>();

  /** Lets everyone through who waits at `key`, and who comes there later. */
  open(key: string): void {
    this.gate(key).resolve();
  }

  /** Resolves once the gate is open. */
  pass(key: string): Promise<void> {
    return this.gate(key).promise;
  }

  private gate(key: string): Deferred {
    const gate = this.gates.get(key) ?? defer();
    this.gates.set(key, gate);
    return gate;
  }
}

/** The event of a chunk; null for none. */
function eventOf(chunk: TextStreamPart<ToolSet>): AgentEvent | null {
  switch (chunk.type) {
    case "text-delta":
      return chunk.text === "" ? null : { type: "text", text: chunk.text };
    case "tool-call":
      return { type: "tool_use", id: chunk.toolCallId, name: chunk.toolName, input: chunk.input };
    case "tool-result":
      if (chunk.preliminary === true) return null;
      return { type: "tool_result", tool_use_id: chunk.toolCallId, content: textOf(chunk.output) };
    case "tool-error":
      return { type: "tool_result", tool_use_id: chunk.toolCallId, content: errorText(chunk.error), is_error: true };
    default:
      return null;
  }
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "null");
}

type FinishStep = Extract<TextStreamPart<ToolSet>, { type: "finish-step" }>;

/** The failure of a step; null for one that did not fail. */
function failureOf({ finishReason, rawFinishReason }: FinishStep): StemmaError | null {
  // A connection that closes early looks like an end without a reason.
  if (finishReason === "other" && rawFinishReason === undefined) {
    return new StemmaError("MODEL_FAILED", {}, "The model's answer broke off before it was complete.");
  }
  if (finishReason !== "error") return null;
  const why = rawFinishReason === undefined ? "" : `: ${rawFinishReason}`;
  return new StemmaError("MODEL_FAILED", {}, `The model's provider ended the answer with an error${why}.`);
}

/** Why a turn ends with this step; `pending` says that calls wait for results. */
function stopReason(finish: FinishStep["finishReason"], pending: boolean, last: boolean): StopReason {
  if (finish === "length") return "max_tokens";
  if (finish === "content-filter") return "refusal";
  if (pending) return "tool_use";
  return finish === "tool-calls" && last ? "max_turns" : "end_turn";
}

function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  return new StemmaError("MODEL_FAILED", {}, `The model failed: ${errorText(error)}`, { cause: error });
}

/** The chunks of a stream until the signal is aborted; a stream that fails, or cannot be had, ends with an `error` chunk. */
async function* chunksOf<T>(
  open: () => ReadableStream<T>,
  signal: AbortSignal,
): AsyncGenerator<T | { type: "error"; error: unknown }> {
  let reader: ReadableStreamDefaultReader<T> | null = null;
  try {
    reader = open().getReader();
    for (;;) {
      // A tool that does not heed the signal must not hold up the end of the turn.
      const next = await unlessAborted(reader.read(), signal);
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    if (!signal.aborted) yield { type: "error", error };
  } finally {
    // The failure was reported already, or nobody waits for it any more.
    reader?.cancel().catch(() => {});
  }
}

type Part = SessionMessagePart & Record<string, unknown>;

/** Builds the message of one step out of what the model streams, in the AI SDK's `UIMessage` form. */
class StepRecorder {
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
