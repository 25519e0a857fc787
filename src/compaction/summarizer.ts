import { invalid, kindOf } from "../errors.js";

/** Asks a model: resolves to its answer to the prompt. */
export type SummarizeFunction = (prompt: string) => string | PromiseLike<string>;

/** A model of the AI SDK, of version 5 or later, or any object that is called like one. */
export interface SummaryModel {
  doGenerate(options: {
    prompt: { role: "user"; content: { type: "text"; text: string }[] }[];
  }): PromiseLike<{ content: readonly { type: string; text?: string }[] }>;
}

/** The function behind `summarize`. Errors: `INVALID_ARGUMENT` for what is neither a function nor a model; it fails as that does. */
export function summarizerOf(summarize: SummarizeFunction | SummaryModel): (prompt: string) => Promise<string> {
  if (typeof summarize === "function") return async (prompt) => checked(await summarize(prompt));
  if (typeof (summarize as Partial<SummaryModel> | null | undefined)?.doGenerate !== "function") {
    const message = `summarize must be a function that takes a prompt and resolves to text, or a model of the AI SDK; got ${kindOf(summarize)}.`;
    throw invalid(message);
  }
  return async (prompt) => {
    const { content } = await summarize.doGenerate({
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
    });
    // A model's reasoning is a text, too, but not of its answer.
    return content.map((part) => (part.type === "text" ? checked(part.text) : "")).join("");
  };
}

function checked(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw invalid(`summarize must resolve to text; it gave ${kindOf(answer)}.`);
}
