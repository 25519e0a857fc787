import { StemmaError } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import { parseEdits } from "./parse.js";
import { buildLearnPrompt } from "./prompt.js";

/** A block that may be learned into. */
export interface LearnBlock {
  readonly label: string;
  readonly description?: string;
  /** The text; of a block that holds entries how many there are. */
  readonly content: string;
  /** The most estimated tokens of the text, or of each entry. */
  readonly maxTokens: number;
  /** It holds entries under keys. */
  readonly holdsEntries: boolean;
  /** Of a block with a schema: its JSON Schema. The content is JSON. */
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** An entry of a block that holds entries. */
export interface LearnEntry {
  readonly label: string;
  readonly key: string;
  readonly content: string;
}

/** What there is to learn from. */
export interface LearnRequest {
  /** The messages since the last time, oldest first. */
  readonly messages: readonly SessionMessage[];
  readonly blocks: readonly LearnBlock[];
  /** The entries that fit what the messages say best. */
  readonly entries: readonly LearnEntry[];
}

/** One change of a block or an entry. */
export interface LearnEdit {
  /** `add` a line or an entry, `replace` one by another, `remove` one. */
  readonly action: "add" | "replace" | "remove";
  /** The block's. */
  readonly label: string;
  /** The entry's, of a block that holds entries; the field's that is removed, of a block with a schema. */
  readonly key?: string | undefined;
  /** The line that is replaced or removed, as it stands in the block. */
  readonly old?: string | undefined;
  /** What is written; for a block with a schema a JSON Merge Patch, as an object or as JSON. */
  readonly content?: string | Readonly<Record<string, unknown>> | undefined;
  /** The ids of the messages that it comes from, one at least. */
  readonly messageIds: readonly string[];
}

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
export function createLearnFunction({ extract, instructions }: LearnOptions): LearnFunction {
  if (typeof extract !== "function") {
    throw new StemmaError(
      "INVALID_ARGUMENT",
      {},
      "extract is a function that resolves to edits, or to a model's answer.",
    );
  }
  if (instructions !== undefined && typeof instructions !== "string") {
    throw new StemmaError("INVALID_ARGUMENT", {}, "instructions is a text.");
  }
  return async (request) => {
    const answer = await extract({
      ...request,
      // Rules of one's own do without it.
      get prompt() {
        return buildLearnPrompt(request, instructions);
      },
    });
    return typeof answer === "string" ? parseEdits(answer, request.messages) : (answer ?? []);
  };
}
