import { StemmaError } from "@stemma/model";
import { resolveModel } from "@stemma/runner";
import type { LanguageModel } from "ai";
import { offlineSummary } from "./chat/offline/summary.js";

export interface ModelOptions {
  model?: string;
  baseUrl?: string;
}

/** A function that writes summaries, and its name. */
export interface Summarizer {
  name: string;
  summarize(prompt: string): string | Promise<string>;
}

// It must not be taken for a model's.
const OFFLINE_NOTICE =
  "(Lines picked from the conversation by stemma's offline summariser; no language model wrote this.)";

/** The model of the options or the environment, else the offline summariser. Errors: `MODEL_UNAVAILABLE`. */
export async function createSummarizer(options: ModelOptions): Promise<Summarizer> {
  const name = options.model ?? (process.env.STEMMA_MODEL || null);
  if (name === null) {
    if (options.baseUrl !== undefined) {
      throw new StemmaError("MODEL_UNAVAILABLE", {}, "--base-url needs the model's name: --model, or STEMMA_MODEL.");
    }
    const summarize = (prompt: string) => `${OFFLINE_NOTICE}\n\n${offlineSummary(prompt)}`;
    return { name: "the offline summariser", summarize };
  }
  return { name, summarize: await textModel(name, options.baseUrl) };
}

/** A function that gives what the model with this name says to a prompt. Errors: `MODEL_UNAVAILABLE`. */
export async function textModel(name: string, baseUrl?: string): Promise<(prompt: string) => Promise<string>> {
  const model = await languageModel(name, baseUrl);
  return async (prompt) => {
    const { generateText } = await import("ai");
    return (await generateText({ model, prompt })).text;
  };
}

/** The model with this name. Errors: `MODEL_UNAVAILABLE`. */
export async function languageModel(name: string, baseUrl?: string): Promise<LanguageModel> {
  const baseURL = baseUrl ?? (process.env.STEMMA_MODEL_BASE_URL || undefined);
  return (await resolveModel(name, { baseURL })) as LanguageModel;
}
