import { z } from "zod";
import { boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { globPattern } from "./glob-pattern.js";

const MAX_SHOWN = 500;

export const createGlobTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "glob",
    description: "Find files by a pattern such as src/**/*.ts. Passes over .git and node_modules.",
    changes: false,
    inputSchema: z.object({
      pattern: z.string().min(1).describe("Relative to the working directory; without a / it matches names anywhere."),
    }),
    async run({ pattern }, { workspace, abortSignal }) {
      const matcher = globPattern(pattern);
      const found: string[] = [];
      for await (const { path, directory } of workspace.walk(await workspace.directory())) {
        abortSignal?.throwIfAborted();
        if (!directory && matcher.test(path)) found.push(path);
      }
      return found.length === 0 ? `No file matches ${pattern}.` : boundedLines(found.sort(), MAX_SHOWN);
    },
  });
