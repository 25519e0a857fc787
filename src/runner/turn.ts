import type { LanguageModel, ModelMessage, StopCondition, ToolSet } from "ai";
import { stepResults } from "../ai-sdk/lint/step-results.js";
import type { SessionMessage } from "../model/message.js";
import { sendable } from "../model/sendable.js";
import { StepUpdates } from "../session/turn/step-updates.js";
import { unlessAborted } from "../unless-aborted.js";
import { Gates } from "./gates.js";
import { toSDKMessages } from "./messages/sdk-message.js";
import { asError, chunksOf, eventOf, failureOf, stopReason } from "./model-stream.js";
import { loadAiSdk } from "./models/ai-sdk.js";
import { addUsage, NO_USAGE, usageOf } from "./models/usage.js";
import { StepRecorder } from "./step-recorder.js";
import { guardTools } from "./tools/agent-tools.js";
import type { TurnLog, TurnOptions } from "./turn-options.js";
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
      const told = await stored(updates.before(stepNumber, messages));
      return told === null ? {} : { messages: told };
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
