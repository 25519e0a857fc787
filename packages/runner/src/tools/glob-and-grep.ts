import type { Worker } from "node:worker_threads";
import { invalid } from "@stemma/model";
import { files } from "@stemma/model/files";
import { objectSchema, refusal } from "@stemma/session";
import picomatch from "picomatch/posix.js";
import { boundedLine, boundedLines } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { type Entry, INCOMPLETE, type Walk } from "./open-directory.js";
import { readFound } from "./text-file.js";
import type { Workspace } from "./workspace.js";

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

const MAX_LINES = 200;
/** Lines that match, at most, before the search ends. */
const MAX_FOUND = 2000;
const MAX_LINE = 300;
/** How long a search looks at files, in milliseconds. */
const MAX_TIME = 20_000;

export const createGrepTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "grep",
    description: "Find lines of text files that match a regular expression. Passes over .git and node_modules.",
    changes: false,
    input: objectSchema(
      {
        pattern: { type: "string", minLength: 1, description: "A JavaScript regular expression." },
        path: { type: "string", description: "A file or directory; default: the working directory." },
        files: { type: "string", description: "Only files that match this pattern, such as *.ts." },
        ignoreCase: { type: "boolean" },
      },
      ["pattern"],
    ),
    async run({ pattern, path = ".", files: only, ignoreCase = false }, { workspace, abortSignal }) {
      const expression = parseExpression(pattern, ignoreCase);
      if (expression === null) return refusal(`"${pattern}" is not a regular expression.`);
      const { files, complete } = await filesBelow(workspace, path, abortSignal);
      const searched = only === undefined ? files : await matching(files, only, abortSignal);
      const found: string[] = [];
      const end = performance.now() + MAX_TIME;
      let looked = 0;
      await Matcher.use({ expression }, abortSignal, async (matcher) => {
        for (const file of searched) {
          abortSignal?.throwIfAborted();
          if (performance.now() > end) break;
          looked += 1;
          // What is no text, or too large, has no lines to show.
          for (const { index, text } of await matcher.match(await readFound(workspace, file).catch(() => ""))) {
            found.push(`${file.path}:${index + 1}: ${boundedLine(text.trim(), MAX_LINE)}`);
          }
          if (found.length > MAX_FOUND) break;
        }
      });
      const shown = found.length === 0 ? `Nothing matches ${pattern}.` : boundedLines(found, MAX_LINES);
      if (!complete) return shown + INCOMPLETE;
      if (found.length > MAX_FOUND || looked === searched.length) return shown;
      return `${shown}\n(Only ${looked} of ${searched.length} files were looked at; name a directory.)`;
    },
  });

async function matching(
  files: readonly Entry[],
  pattern: string,
  signal: AbortSignal | undefined,
): Promise<readonly Entry[]> {
  const paths = files.map(({ path }) => path);
  const matches = await Matcher.use(globPattern(pattern), signal, (matcher) => matcher.match(paths));
  return matches.map(({ index }) => files[index] as Entry);
}

async function filesBelow(workspace: Workspace, path: string, signal: AbortSignal | undefined): Promise<Walk> {
  const absolute = await workspace.resolve(path);
  const { stat } = await files();
  const found = await stat(absolute).catch(() => null);
  if (found === null) throw invalid(`${path} is not there.`, { path });
  if (found.isDirectory()) return workspace.walk(absolute, signal);
  return { files: [{ path: await workspace.relative(absolute), absolute }], complete: true };
}

function parseExpression(pattern: string, ignoreCase: boolean): RegExp | null {
  try {
    return new RegExp(pattern, ignoreCase ? "iu" : "u");
  } catch {
    return null;
  }
}

/** How long all matching of one search may take, in milliseconds: expressions of a model can take forever. */
const LIMIT = 2000;
/** How many matches one call gives at most. */
const MAX_MATCHES = 50_000;

/** A pattern, or one text that it stands for beside that. */
interface Pattern {
  readonly expression: RegExp;
  readonly exactly?: string | undefined;
}

/** A text that matches, and where it stands in those that were given. */
interface Match {
  readonly index: number;
  readonly text: string;
}

// A thread can be ended in the middle of a match, and until then it holds up nobody.
const THREAD = `
const { parentPort, workerData: { expression, exactly, most } } = require("node:worker_threads");
parentPort.on("message", (message) => {
  const texts = typeof message === "string" ? message.split("\\n") : message;
  const found = [];
  for (let index = 0; index < texts.length && found.length < most; index += 1) {
    const text = texts[index];
    if (text === exactly || expression.test(text)) found.push({ index, text });
  }
  parentPort.postMessage(found);
});`;

/** Matches texts in a thread of its own, all of them together within two seconds. Node only. */
class Matcher {
  #left = LIMIT;

  private constructor(
    private readonly thread: Worker,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Does something with a matcher, and ends its thread. */
  static async use<T>(
    pattern: Pattern,
    signal: AbortSignal | undefined,
    work: (matcher: Matcher) => Promise<T>,
  ): Promise<T> {
    const { Worker } = await import("node:worker_threads");
    const thread = new Worker(THREAD, { eval: true, workerData: { ...pattern, most: MAX_MATCHES } });
    try {
      await new Promise((resolve, reject) => thread.once("online", resolve).once("error", reject));
      return await work(new Matcher(thread, signal));
    } finally {
      await thread.terminate();
    }
  }

  /** Those of some texts, or of the lines of a text, that match. Errors: `INVALID_ARGUMENT` when it took too long; the reason of an abort. */
  async match(texts: string | readonly string[]): Promise<Match[]> {
    const { thread, signal } = this;
    const began = performance.now();
    let ended = (): void => {};
    try {
      return await new Promise<Match[]>((resolve, reject) => {
        const timer = setTimeout(() => reject(tooLong()), Math.max(0, this.#left));
        const abort = () => reject(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
        ended = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          thread.off("message", resolve).off("error", reject);
        };
        thread.on("message", resolve).on("error", reject);
        signal?.throwIfAborted();
        thread.postMessage(texts);
      });
    } finally {
      ended();
      this.#left -= performance.now() - began;
    }
  }
}

function tooLong() {
  return invalid("The pattern takes too long to match; use a simpler one.", { milliseconds: LIMIT });
}
