import type { z } from "zod";
import { reasonOf, shorten } from "../errors.js";
import { sendableText } from "../model/sendable.js";

/** What a caller tells about a call. The AI SDK passes more, which is not read. */
export interface ToolCallOptions {
  toolCallId?: string | undefined;
}

/** A tool of the AI SDK, without depending on it. `execute` never rejects: a refusal is text that starts with `Error:`. */
export interface SessionTool {
  description: string;
  /** A zod schema of the input. */
  inputSchema: z.ZodType;
  execute(input: unknown, options?: ToolCallOptions): Promise<string>;
  /** True for a call that the user is asked about first. Left out where no call is. */
  needsApproval?(input: unknown): boolean;
}

/** Tools by their names, to be spread beside the host's own. */
export type SessionTools = Record<string, SessionTool>;

/**
 * Builds a tool from what it does with a valid input. What `run` throws becomes its answer to the model. The answer holds no
 * half of a surrogate pair.
 */
export function createTool<Input>(definition: {
  description: string;
  inputSchema: z.ZodType<Input>;
  run(input: Input, options: ToolCallOptions): Promise<string>;
}): SessionTool {
  const { description, inputSchema, run } = definition;
  return {
    description,
    inputSchema,
    async execute(input, options) {
      try {
        const parsed = inputSchema.safeParse(input);
        if (!parsed.success) return refusal(parsed.error.issues.map(describeIssue).join("; "));
        return sendableText(await run(parsed.data, options ?? {}));
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

function describeIssue(issue: z.core.$ZodIssue): string {
  return issue.path.length === 0 ? issue.message : `${issue.path.map(String).join(".")}: ${issue.message}`;
}
