import type { McpServer, ToolAnnotations } from "@modelcontextprotocol/server";
import type { JsonObject } from "@stemma/model";
import { type ErrorCode, StemmaError, sendable } from "@stemma/model";
import { type ObjectSchema, readInput, refusal, toolSchema, type ValueOf } from "@stemma/session";
import type { McpScope } from "./scope.js";

interface ToolDefinition<Input extends ObjectSchema> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** The JSON Schema of what it answers. */
  readonly output: JsonObject;
  readonly annotations: ToolAnnotations;
  /** `signal` is aborted where the client cancels its call. */
  run(scope: McpScope, input: ValueOf<Input>, signal: AbortSignal): Promise<JsonObject>;
}

/** A tool of the server, in one file each. */
export interface McpTool {
  readonly name: string;
  register(server: McpServer, scope: McpScope): void;
}

/** Makes a tool of what it does. It answers with JSON, as a structure and as text; a failure is an answer too, which begins with `Error:`. */
export function defineTool<Input extends ObjectSchema>(tool: ToolDefinition<Input>): McpTool {
  const { name, title, description, input, output } = tool;
  const annotations = { openWorldHint: false, ...tool.annotations };
  const read = (given: unknown) => readInput(input, given);
  return {
    name,
    register: (server, scope) => {
      const schemas = {
        inputSchema: toolSchema(input, read),
        outputSchema: toolSchema(output, (value) => ({ value })),
      };
      server.registerTool(name, { title, description, annotations, ...schemas }, async (given, { mcpReq }) => {
        const reading = read(given);
        if ("problem" in reading) return failed(reading.problem);
        try {
          const answer = sendable(await tool.run(scope, reading.value, mcpReq.signal));
          return {
            structuredContent: answer as Record<string, unknown>,
            content: [{ type: "text" as const, text: JSON.stringify(answer) }],
          };
        } catch (error) {
          return failed(messageOf(error, scope.onError));
        }
      });
    },
  };
}

function failed(why: string) {
  return { isError: true, content: [{ type: "text" as const, text: refusal(why) }] };
}

/** Faults of the client, and findings other than it expected: it is told the message. */
const CLIENT_FAULTS: readonly ErrorCode[] = [
  "INVALID_ARGUMENT",
  "INVALID_TEXT",
  "SESSION_NOT_FOUND",
  "MESSAGE_NOT_FOUND",
  "BLOCK_NOT_FOUND",
  "BLOCK_READONLY",
  "BLOCK_OVER_BUDGET",
  "SEARCH_UNAVAILABLE",
  "CORRUPT_MESSAGE",
  "CORRUPT_ENTRY",
  "ENTRY_CONFLICT",
  "STORE_LOCKED",
  "CONNECTION_LOST",
];

export const ABSENT: readonly string[] = ["SESSION_NOT_FOUND", "SESSION_OWNED", "MESSAGE_NOT_FOUND", "BLOCK_NOT_FOUND"];

/** The text that the client is told of an error. Of a fault of the server or the database it learns the code; `onError` gets the error. */
export function messageOf(error: unknown, onError: (error: unknown) => void): string {
  if (StemmaError.isInstance(error)) {
    if (CLIENT_FAULTS.includes(error.code)) return error.message;
    if (error.code === "SESSION_OWNED") return "There is no such session.";
  }
  onError(error);
  const code = StemmaError.isInstance(error) ? error.code : "INTERNAL";
  return `The memory's server failed (${code}). Its own output says why.`;
}
