import picomatch from "picomatch/posix.js";
import { invalid } from "../../errors.js";
import type { Pattern } from "./matcher.js";

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
