import type { SessionMessage } from "@stemma/model";
import { type PrepareTurnOptions, type Session, StepUpdates } from "@stemma/session";
import {
  convertToModelMessages,
  generateText,
  type LanguageModel,
  type ModelMessage,
  type ToolSet,
  type UIMessage,
} from "ai";
import { repairInPieces } from "../lint/lint.js";
import { stepResults } from "../lint/outputs.js";
import { modelMessages } from "../message/model-messages.js";
import { validMessages } from "../message/validate.js";
import type { PlacedTurn, SplitPrompt } from "./place-prompt.js";
import { isContentOutput } from "./prompt-parts.js";
import type { CallParams, Prompt, WrappedModel } from "./sdk-types.js";

/** The prompt of a turn, the same in each of its steps. */
export interface TurnPrompt {
  /** The system prompt, and the messages up to the one that is answered. */
  readonly before: readonly Prompt[number][];
  readonly updates: StepUpdates;
}

/** Prepares a turn, and makes its messages the model's. Errors: those of `prepareTurn`, and of a download by the AI SDK. */
export async function turnPrompt(
  session: Session,
  placed: PlacedTurn,
  { system }: SplitPrompt,
  { model, params, turn }: { model: WrappedModel; params: CallParams; turn: PrepareTurnOptions },
): Promise<TurnPrompt> {
  const tools = Object.fromEntries((params.tools ?? []).map(({ name, ...tool }) => [name, tool]));
  const request = await session.prepareTurn<UIMessage>({ ...turn, tools, onCorrupt: "skip" });
  const messages = await mended(upTo(request.messages, placed), model);
  const shown = toolsOf(messages);
  const asked = await modelMessages(convertToModelMessages, messages, { tools: shown });
  const prompt = await providerPrompt(asked, model, params);
  return {
    before: [...withMemory(system, request.system), ...prompt],
    updates: new StepUpdates(request.update, stepResults(model)),
  };
}

// First what other formats left becomes parts of the AI SDK; then nothing lacks what was no part.
async function mended(messages: UIMessage[], model: WrappedModel): Promise<UIMessage[]> {
  const mend = (given: UIMessage[]) =>
    repairInPieces(given as SessionMessage[], model, { tools: toolsOf(given) }) as Promise<UIMessage[]>;
  return mend(await validMessages(await mend(messages)));
}

// What follows comes from the caller. Where a summary took the question's place, all but the answer is shown.
function upTo(messages: UIMessage[], { questionId, answer }: PlacedTurn): UIMessage[] {
  const at = messages.findIndex(({ id }) => id === questionId);
  return at < 0 ? messages.filter(({ id }) => id !== answer.id) : messages.slice(0, at + 1);
}

/** The caller's system prompt with what the session remembers behind it, in one message: some models take no second one. */
function withMemory(system: Prompt, memory: string): Prompt {
  const last = system.at(-1);
  if (memory === "") return system;
  if (last?.role !== "system") return [{ role: "system", content: memory }];
  return [...system.slice(0, -1), { ...last, content: `${last.content}\n\n${memory}` }];
}

// Tools by whose names the AI SDK shows an output as it was made for the model.
function toolsOf(messages: readonly UIMessage[]): ToolSet {
  const toModelOutput = ({ output }: { output: unknown }) => {
    if (isContentOutput(output)) return output;
    return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output ?? null };
  };
  const names = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      const { type, output, toolName } = part as { type: string; output?: unknown; toolName?: string };
      return isContentOutput(output) ? [toolName ?? type.slice("tool-".length)] : [];
    }),
  );
  return Object.fromEntries(names.map((name) => [name, { toModelOutput } as never]));
}

const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
const EMPTY = {
  content: [],
  finishReason: { unified: "stop", raw: "stop" },
  usage: { inputTokens: none, outputTokens: none },
  warnings: [],
};

/**
 * Messages as a provider gets them. Only the AI SDK itself knows how, with its downloads: it is asked to call a model that
 * answers nothing, and keeps what it was called with. Errors: those of a download, and the reason of an abort.
 */
async function providerPrompt(
  messages: ModelMessage[],
  model: WrappedModel,
  { abortSignal }: Pick<CallParams, "abortSignal">,
): Promise<Prompt> {
  if (messages.length === 0) return [];
  let kept: Prompt = [];
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  const asked = {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: async ({ prompt }: CallParams) => {
      kept = prompt;
      return EMPTY;
    },
  } as unknown as LanguageModel;
  // Version 7 of the AI SDK names the telemetry without "experimental".
  const quiet = { experimental_telemetry: { isEnabled: false }, telemetry: { isEnabled: false } };
  await generateText({ ...quiet, model: asked, messages, maxRetries: 0, ...(abortSignal && { abortSignal }) });
  return kept;
}
