import { generateText, type LanguageModel } from "ai";
import type { LearnOptions, Session, TitleFunction } from "stemma";
import { resolveModel } from "stemma/agent";
import { offlineExtract } from "./offline/extract";
import { type Facts, offlineModel } from "./offline/model";
import { offlineSummary, offlineTitle } from "./offline/summary";

export interface ChatModel {
  /** Null for the offline responder. */
  readonly name: string | null;
  readonly forChat: (session: Session, facts: Facts) => LanguageModel;
  readonly summarize: (prompt: string) => string | Promise<string>;
  readonly title: TitleFunction;
  readonly extract: LearnOptions["extract"];
}

/** The model that STEMMA_MODEL and STEMMA_MODEL_BASE_URL name, as for `stemma chat`; without them the offline responder. */
export async function chooseModel(): Promise<ChatModel> {
  const { STEMMA_MODEL: name, STEMMA_MODEL_BASE_URL: baseURL } = process.env;
  if (!name) {
    return {
      name: null,
      forChat: offlineModel,
      summarize: offlineSummary,
      title: offlineTitle,
      extract: offlineExtract,
    };
  }
  const model = (await resolveModel(name, { baseURL: baseURL || undefined })) as LanguageModel;
  const ask = async (prompt: string) => (await generateText({ model, prompt })).text;
  return { name, forChat: () => model, summarize: ask, title: ask, extract: ({ prompt }) => ask(prompt) };
}
