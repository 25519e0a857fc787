/** Characters of a tool's answer. */
export const MAX_ANSWER = 30_000;

/** At most `limit` lines, and a line that says how many more there are. */
export function boundedLines(lines: readonly string[], limit: number): string {
  if (lines.length <= limit) return boundedText(lines.join("\n"));
  return `${boundedText(lines.slice(0, limit).join("\n"))}\n(${lines.length - limit} more; be more specific.)`;
}

/** The text, or its beginning and its end: of a long output both tell most. */
export function boundedText(text: string, limit = MAX_ANSWER): string {
  if (text.length <= limit) return text;
  const head = text.slice(0, Math.floor(limit / 3)).toWellFormed();
  const tail = text.slice(text.length - Math.floor((limit * 2) / 3)).toWellFormed();
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/** One line, cut to `limit` characters. */
export function boundedLine(line: string, limit: number): string {
  return line.length <= limit ? line : `${line.slice(0, limit).toWellFormed()}…`;
}
