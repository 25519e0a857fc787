import { z } from "zod";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";

export const createWriteTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "write",
    description: "Write a text file, in place of what it held; its directories are made.",
    changes: true,
    inputSchema: z.object({
      path: z.string().describe("Relative to the working directory."),
      content: z.string().describe("The whole text."),
    }),
    async run({ path, content }, { workspace }) {
      await workspace.write(path, content, "create");
      return `Wrote ${content.length} characters to ${path}.`;
    },
  });
