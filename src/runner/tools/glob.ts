import { objectSchema } from "../../tools/input-schema.js";
import { boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { globPattern } from "./glob-pattern.js";
import { Matcher } from "./matcher.js";
import { INCOMPLETE } from "./walk.js";

const MAX_SHOWN = 500;

export const createGlobTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "glob",
    description: "Find files by a pattern such as src/**/*.ts. Passes over .git and node_modules.",
    changes: false,
    input: objectSchema(
      {
        pattern: {
          type: "string",
          minLength: 1,
          description: "Relative to the working directory; without a / it matches names anywhere.",
        },
      },
      ["pattern"],
    ),
    async run({ pattern }, { workspace, abortSignal }) {
      const { files, complete } = await workspace.walk(await workspace.directory(), abortSignal);
      const paths = files.map(({ path }) => path);
      const matches = await Matcher.use(globPattern(pattern), abortSignal, (matcher) => matcher.match(paths));
      const found = matches.map(({ text }) => text);
      const shown = found.length === 0 ? `No file matches ${pattern}.` : boundedLines(found.sort(), MAX_SHOWN);
      return complete ? shown : shown + INCOMPLETE;
    },
  });
