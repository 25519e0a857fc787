import { invalid } from "@stemma/model";
import { objectSchema } from "@stemma/session";
import picomatch from "picomatch/posix.js";
import { boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { Matcher, type Pattern } from "./matcher.js";
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

const OPTIONS = { dot: true, nonegate: true, posix: true, regex: false, keepQuotes: true };
/** Characters of a pattern: longer ones take long to read. */
const MAX_LENGTH = 1000;

/**
 * The paths that fit a file pattern: `*` and `?` within a name, `**` for any directories, `[abc]`, `{a,b}`.
 * A pattern without `/` matches names in any directory. Hidden files are matched like others. Errors: `INVALID_ARGUMENT`.
 */
export function globPattern(pattern: string): Pattern {
  if (pattern.length > MAX_LENGTH) throw invalid(`A file pattern has at most ${MAX_LENGTH} characters.`);
  const rooted = pattern.includes("/") ? pattern.replace(/^\.?\//, "") : `**/${pattern}`;
  // Names hold parentheses, as in app/(shop)/page.tsx. `**/` that begins an alternative stands for no directory too.
  const literal = rooted.replace(/\\?([()|])/g, "\\$1").replace(/(?<=[{,])\*\*\//g, "{**/,}");
  // A name may look like a pattern.
  return { expression: picomatch.makeRe(literal, OPTIONS), exactly: literal };
}
