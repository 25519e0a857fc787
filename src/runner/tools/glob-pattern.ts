import picomatch from "picomatch/posix.js";

const OPTIONS = { dot: true, nonegate: true, posix: true, regex: false, keepQuotes: true };

/**
 * Tells which paths fit a file pattern: `*` and `?` within a name, `**` for any directories, `[abc]`, `{a,b}`.
 * A pattern without `/` matches names in any directory. Hidden files are matched like others.
 */
export function globPattern(pattern: string): (path: string) => boolean {
  const rooted = pattern.includes("/") ? pattern.replace(/^\.?\//, "") : `**/${pattern}`;
  // Names hold parentheses, as in app/(shop)/page.tsx. `**/` that begins an alternative stands for no directory too.
  const literal = rooted.replace(/\\?([()|])/g, "\\$1").replace(/(?<=[{,])\*\*\//g, "{**/,}");
  const matches = picomatch(literal, OPTIONS);
  return (path) => matches(path);
}
