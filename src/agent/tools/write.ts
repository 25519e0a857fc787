import { z } from "zod";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { files, paths } from "./workspace.js";

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
      const target = await workspace.resolve(path);
      const { mkdir, writeFile } = await files();
      const { dirname } = await paths();
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
      return `Wrote ${content.length} characters to ${path}.`;
    },
  });
