import { invalid } from "../errors.js";
import { assertKnownOptions } from "../known-options.js";
import type { LearnEdit, LearnRequest } from "./edits.js";
import { parseEdits } from "./parse.js";
import { buildLearnPrompt } from "./prompt.js";

/** What `onLearning()` takes. */
export type LearnFunction = (request: LearnRequest) => Promise<readonly LearnEdit[]>;

/** What `extract` is given. */
export interface ExtractRequest extends LearnRequest {
  /** Asks a model for the edits, as JSON. */
  readonly prompt: string;
}

export interface LearnOptions {
  /**
   * Finds what is worth remembering: gives edits, or the text that a model answered to `prompt`, in which they are read. Null
   * for none. What it throws, the learning fails with.
   */
  extract: (
    request: ExtractRequest,
  ) => string | readonly LearnEdit[] | null | PromiseLike<string | readonly LearnEdit[] | null>;
  /** What to remember and what not, for the prompt. Default: lasting facts about the user and their work. */
  instructions?: string | undefined;
}

/**
 * Makes a learn function that asks a model, or rules of your own, what is worth remembering of the latest messages.
 * Errors: `INVALID_ARGUMENT` for invalid options; the function fails with `LEARNING_FAILED` for an answer that cannot be read.
 */
export function createLearnFunction(options: LearnOptions): LearnFunction {
  assertKnownOptions(options, "createLearnFunction()", { extract: true, instructions: true });
  const { extract, instructions } = options;
  if (typeof extract !== "function") {
    throw invalid("extract must be a function that resolves to edits, or to a model's answer.");
  }
  if (instructions !== undefined && typeof instructions !== "string") throw invalid("instructions must be a text.");
  return async (request) => {
    const answer = await extract({
      ...request,
      // Rules of one's own do without it.
      get prompt() {
        return buildLearnPrompt(request, instructions);
      },
    });
    if (typeof answer !== "string") return answer ?? [];
    return parseEdits(answer, request.messages);
  };
}
