import { assertStorableText } from "../../model/text.js";
import { assertText } from "../../session/arguments.js";
import { convert } from "../../tools/read-input.js";
import type { MemoryPath } from "./paths.js";
import { refused } from "./refused.js";

const MAX_LINES = 999_999;
/** Lines around an edit that its answer shows. */
const AROUND = 2;

/** A file's lines with their numbers. `range` is the first and the last line, -1 for the end. Errors: `MEMORY_REFUSED`. */
export function numberedLines(
  { given }: MemoryPath,
  content: string,
  range: readonly number[] | null | undefined,
): string {
  const lines = content.split("\n");
  if (lines.length > MAX_LINES) {
    throw refused(`File ${given} has too many lines (${lines.length}). Maximum is 999,999 lines.`);
  }
  const asked = convert("array", range);
  const [first = 1, last = -1] = Array.isArray(asked) && asked.length === 2 ? asked.map(lineNumber) : [];
  const start = Math.max(1, first) - 1;
  return numbered(lines.slice(start, last === -1 ? undefined : last), start);
}

/** A text with the one line that holds `from` changed, and what the edit's answer shows. Errors: `MEMORY_REFUSED`. */
export function replaceOnce(
  { given }: MemoryPath,
  content: string,
  from: string,
  to: string,
): { content: string; shown: string } {
  const found = content.split("\n").flatMap((line, index) => (line.includes(from) ? [index] : []));
  const [at] = found;
  if (at === undefined) {
    throw refused(`No replacement was performed, old_str \`${from}\` did not appear verbatim in ${given}.`);
  }
  if (found.length > 1) {
    const lines = found.map((index) => index + 1).join(", ");
    throw refused(
      `No replacement was performed. Multiple occurrences of old_str \`${from}\` in lines: ${lines}. Please ensure it is unique`,
    );
  }
  // A function, because a text may hold $&.
  const changed = content.replace(from, () => to);
  const start = Math.max(0, at - AROUND);
  return { content: changed, shown: numbered(changed.split("\n").slice(start, at + AROUND + 1), start) };
}

/** A text with lines added behind line `at`, 0 for the top. Errors: `MEMORY_REFUSED`. */
export function insertLines(content: string, line: number, text: string): string {
  const lines = content.split("\n");
  const at = lineNumber(line);
  if (at === undefined || !Number.isInteger(at) || at < 0 || at > lines.length) {
    const range = `It should be within the range of lines of the file: [0, ${lines.length}]`;
    throw refused(`Invalid \`insert_line\` parameter: ${line}. ${range}`);
  }
  return lines.toSpliced(at, 0, text.replace(/\n$/, "")).join("\n");
}

/** A number, also where a model wrote it as a text; undefined for anything else. */
function lineNumber(given: unknown): number | undefined {
  const number = convert("integer", given);
  return typeof number === "number" ? number : undefined;
}

function numbered(lines: readonly string[], before: number): string {
  return lines.map((line, index) => `${String(before + index + 1).padStart(6)}\t${line}`).join("\n");
}

/** The text of a file. Half a surrogate pair becomes another character when it is written. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`. */
export function fileText(value: unknown, name: string): string {
  assertText(value, `The ${name} of the memory tool`);
  assertStorableText(value.toWellFormed(), `The ${name} of the memory tool`);
  return value;
}
