import { StemmaError } from "@stemma/model";
import { observedValues, type Store } from "@stemma/store";

/**
 * A tool of the AI SDK. One without `execute` is answered by the host: the turn stops with `tool_use`, and `send` takes its
 * `tool_result`.
 */
export interface AgentTool {
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  // Any function fits: what a tool takes is between its schema and itself.
  execute?: ((input: never, options: never) => unknown) | undefined;
  /** The session's `approve` is asked before such a tool runs. */
  readonly needsApproval?: unknown;
}

export type AgentTools = Readonly<Record<string, AgentTool>>;

/** A call that waits for a person's word. */
export interface ApprovalRequest {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

/** True lets the call run. False, or a text that says why not, is what the model is told instead. */
export type Approve = (request: ApprovalRequest) => boolean | string | PromiseLike<boolean | string>;

interface CallOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
  readonly [other: string]: unknown;
}

/** Stands for what a tool threw that is no error: the AI SDK would write it as JSON. */
class ToolError extends Error {
  override name = "ToolError";
}

type Execute = (input: unknown, options: CallOptions) => unknown;

/** Whose tools they are. */
export interface ToolsOf {
  /** Its observer is told of each call. */
  readonly store: Store | null;
  readonly sessionId: string;
}

/**
 * The tools as a turn runs them: each call waits for `ready` (its record is stored), is approved where it must be, and
 * ends in a value that can be stored. What a tool throws becomes its result.
 */
export function guardTools(
  tools: AgentTools,
  ready: (toolCallId: string) => Promise<void>,
  approve: Approve | undefined,
  { store, sessionId }: ToolsOf,
): Record<string, object> {
  const guarded = Object.entries(tools).map(([toolName, tool]) => {
    const { needsApproval, execute, ...rest } = tool;
    if (execute === undefined) return [toolName, rest] as const;
    const run = execute as Execute;
    // A generator, as only that can pass on what a tool with preliminary results yields.
    async function* call(input: unknown, options: CallOptions): AsyncGenerator<unknown> {
      await ready(options.toolCallId);
      const asked = typeof needsApproval === "function" ? await needsApproval(input, options) : needsApproval;
      const request = { toolName, toolCallId: options.toolCallId, input };
      if (asked) await demandApproval(request, approve, options.abortSignal);
      let latest: unknown;
      const noted = (value: unknown): unknown => {
        latest = storable(toolName, value);
        return latest;
      };
      async function* perform(): AsyncGenerator<unknown, void, undefined> {
        try {
          const result = run(input, { ...options, approve });
          if (isAsyncIterable(result)) for await (const value of result) yield noted(value);
          else yield noted(await result);
        } catch (error) {
          throw error instanceof Error ? error : new ToolError(errorText(error), { cause: error });
        }
      }
      const tool = { name: toolName, callId: options.toolCallId };
      const observed = { type: "tool", name: "executeTool", sessionId, tool, values: [input] } as const;
      yield* observedValues(store, observed, perform(), () => ({ result: latest }));
    }
    return [toolName, { ...rest, execute: call }] as const;
  });
  return Object.fromEntries(guarded);
}

/** Errors: `TOOL_REFUSED`; the signal's reason when the turn was aborted before the answer was there. */
export async function demandApproval(
  request: ApprovalRequest,
  approve: Approve | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { toolName } = request;
  if (approve === undefined) {
    const message = `${toolName} is off, because nobody can approve it: pass approve to the session.`;
    throw new StemmaError("TOOL_REFUSED", { toolName }, message);
  }
  const answer = await approve(request);
  // The call stands as interrupted by now.
  signal?.throwIfAborted();
  if (answer === true) return;
  const why = typeof answer === "string" && answer !== "" ? `: ${answer}` : ".";
  throw new StemmaError("TOOL_REFUSED", { toolName }, `The user did not approve this call of ${toolName}${why}`);
}

function storable(toolName: string, value: unknown): unknown {
  try {
    return JSON.stringify(value) === undefined ? null : value;
  } catch (cause) {
    const message = `${toolName} ran, but its result cannot be written as JSON.`;
    throw new StemmaError("INVALID_MESSAGE", { toolName }, message, { cause });
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The text of whatever was thrown, as a model reads it. Never fails, and is never something that cannot be stored. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error);
    if (typeof text === "string") return storableText(text);
  } catch {
    // A bigint, a circle, a getter that throws.
  }
  try {
    return storableText(String(error));
  } catch {
    return "Something was thrown that is no error.";
  }
}

function storableText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
