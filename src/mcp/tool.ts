import type { McpServer, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import { sendable, sendableText } from "../model/sendable.js";
import { messageOf } from "./failure.js";
import type { McpScope } from "./scope.js";

interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly annotations: ToolAnnotations;
  run(scope: McpScope, input: z.output<Input>): Promise<z.input<Output>>;
}

/** A tool of the server, in one file each. */
export interface McpTool {
  readonly name: string;
  readonly isReadOnly: boolean;
  register(server: McpServer, scope: McpScope): void;
}

/** Makes a tool of what it does. It answers with JSON, as a structure and as text; a failure is an answer too. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: ToolDefinition<Input, Output>,
): McpTool {
  const { name, title, description, input, output } = tool;
  const annotations = { openWorldHint: false, ...tool.annotations };
  return {
    name,
    isReadOnly: annotations.readOnlyHint === true,
    register: (server, scope) => {
      const schemas: Record<"inputSchema" | "outputSchema", z.ZodObject> = { inputSchema: input, outputSchema: output };
      server.registerTool(name, { title, description, annotations, ...schemas }, async (given) => {
        try {
          // The server has parsed it.
          const answer = sendable(await tool.run(scope, given as z.output<Input>));
          return {
            structuredContent: answer as Record<string, unknown>,
            content: [{ type: "text" as const, text: JSON.stringify(answer) }],
          };
        } catch (error) {
          const text = sendableText(messageOf(error, scope.onError));
          return { isError: true, content: [{ type: "text" as const, text }] };
        }
      });
    },
  };
}
