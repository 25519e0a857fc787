import { reasonOf, shorten } from "../errors.js";
import { sendableText } from "../model/sendable.js";
import { type ObjectSchema, type Reading, type ToolSchema, toolSchema, type ValueOf } from "./input-schema.js";
import { readInput } from "./read-input.js";

/** What a caller tells about a call. The AI SDK passes more, which is not read. */
export interface ToolCallOptions {
  toolCallId?: string | undefined;
}

/** A tool of the AI SDK, without depending on it. `execute` never rejects: a refusal is text that starts with `Error:`. */
export interface SessionTool {
  description: string;
  /** The input as a Standard Schema with a JSON Schema, which frameworks read. */
  inputSchema: ToolSchema;
  execute(input: unknown, options?: ToolCallOptions): Promise<string>;
  /** True for a call that the user is asked about first. Left out where no call is. */
  needsApproval?(input: unknown): boolean;
}

/** Tools by their names, to be spread beside the host's own. */
export type SessionTools = Record<string, SessionTool>;

export interface ToolDefinition<Schema extends ObjectSchema> {
  readonly description: string;
  /** What models are shown. */
  readonly input: Schema;
  /** Reads what a model sent, where that is more than `input` says. */
  readonly read?: (given: unknown) => Reading<ValueOf<Schema>>;
  readonly run: (input: ValueOf<Schema>, options: ToolCallOptions) => Promise<string>;
}

/** Builds a tool from what it does with what it could read. What `run` throws becomes its answer to the model, which holds no half of a surrogate pair. */
export function createTool<Schema extends ObjectSchema>(definition: ToolDefinition<Schema>): SessionTool {
  const { description, input, run, read = (given) => readInput(input, given) } = definition;
  return {
    description: sendableText(description),
    inputSchema: toolSchema(input, read),
    async execute(given, options) {
      try {
        const reading = read(given);
        return "problem" in reading ? refusal(reading.problem) : sendableText(await run(reading.value, options ?? {}));
      } catch (error) {
        return refusal(shorten(reasonOf(error), MAX_REASON));
      }
    },
  };
}

/** Characters of what another program's error says. */
const MAX_REASON = 2000;

/** The text of a refusal. */
export function refusal(reason: string): string {
  return sendableText(`Error: ${reason}`);
}
