import { z } from "zod";
import { refusal } from "../../tools/tool.js";
import { boundedLine, boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { globPattern } from "./glob-pattern.js";
import { readTextFile } from "./text-file.js";
import type { Workspace } from "./workspace.js";
import { files } from "./workspace.js";

const MAX_SHOWN = 200;
/** Lines that match, at most, before the search ends. */
const MAX_FOUND = 2000;
const MAX_LINE = 300;

export const createGrepTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "grep",
    description: "Find lines of text files that match a regular expression. Passes over .git and node_modules.",
    changes: false,
    inputSchema: z.object({
      pattern: z.string().min(1).describe("A JavaScript regular expression."),
      path: z.string().optional().describe("A file or directory; default: the working directory."),
      files: z.string().optional().describe("Only files that match this pattern, such as *.ts."),
      ignoreCase: z.boolean().optional(),
    }),
    async run({ pattern, path = ".", files: only, ignoreCase = false }, { workspace, abortSignal }) {
      const expression = parseExpression(pattern, ignoreCase);
      if (expression === null) return refusal(`"${pattern}" is not a regular expression.`);
      const matcher = only === undefined ? null : globPattern(only);
      const found: string[] = [];
      for await (const file of filesBelow(workspace, path)) {
        abortSignal?.throwIfAborted();
        if (matcher !== null && !matcher.test(file.path)) continue;
        // What is no text, or too large, has no lines to show.
        const text = await readTextFile(file.absolute, file.path).catch(() => "");
        for (const [index, line] of text.split("\n").entries()) {
          if (expression.test(line)) found.push(`${file.path}:${index + 1}: ${boundedLine(line.trim(), MAX_LINE)}`);
        }
        if (found.length > MAX_FOUND) break;
      }
      return found.length === 0 ? `Nothing matches ${pattern}.` : boundedLines(found, MAX_SHOWN);
    },
  });

async function* filesBelow(workspace: Workspace, path: string): AsyncGenerator<{ path: string; absolute: string }> {
  const absolute = await workspace.resolve(path);
  const { stat } = await files();
  if ((await stat(absolute)).isFile()) yield { path: await workspace.relative(absolute), absolute };
  else for await (const entry of workspace.walk(absolute)) if (!entry.directory) yield entry;
}

function parseExpression(pattern: string, ignoreCase: boolean): RegExp | null {
  try {
    return new RegExp(pattern, ignoreCase ? "iu" : "u");
  } catch {
    return null;
  }
}
