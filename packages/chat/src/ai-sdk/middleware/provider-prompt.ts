import { generateText, type LanguageModel, type ModelMessage } from "ai";
import type { CallParams, Prompt, WrappedModel } from "./sdk-types.js";

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
export async function providerPrompt(
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
