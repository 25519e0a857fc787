import { objectSchema } from "../../tools/input-schema.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";

export const createWriteTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "write",
    description: "Write a text file, in place of what it held; its directories are made.",
    changes: true,
    input: objectSchema(
      {
        path: { type: "string", description: "Relative to the working directory." },
        content: { type: "string", description: "The whole text." },
      },
      ["path", "content"],
    ),
    async run({ path, content }, { workspace }) {
      await workspace.write(path, content, "create");
      return `Wrote ${content.length} characters to ${path}.`;
    },
  });
