import { cut } from "@stemma/model";

/** Characters of a tool's answer: of its beginning, and of its end. */
const MAX_HEAD = 10_000;
const MAX_TAIL = 20_000;

/** At most `limit` lines, and a line that says how many more there are. */
export function boundedLines(lines: readonly string[], limit: number): string {
  if (lines.length <= limit) return boundedText(lines.join("\n"));
  return `${boundedText(lines.slice(0, limit).join("\n"))}\n(${lines.length - limit} more; be more specific.)`;
}

/** The text, or its beginning and its end: of a long output both tell most. */
export function boundedText(text: string): string {
  const output = new BoundedOutput();
  output.append(text);
  return output.toString();
}

/** An output that grows, of which no more than its beginning and its end are held. */
export class BoundedOutput {
  private head = "";
  private tail = "";
  private length = 0;

  append(text: string): void {
    this.length += text.length;
    const room = MAX_HEAD - this.head.length;
    this.head += text.slice(0, room);
    const rest = this.tail + text.slice(room);
    // Cut now and then, not with every piece.
    this.tail = rest.length > 2 * MAX_TAIL ? rest.slice(-MAX_TAIL) : rest;
  }

  toString(): string {
    const tail = cut(this.tail, Math.max(0, this.tail.length - MAX_TAIL), this.tail.length);
    const left = this.length - this.head.length - tail.length;
    if (left <= 0) return this.head + tail;
    // The head was cut before its next character was there to be seen.
    const head = this.head.replace(/[\ud800-\udbff]$/, "");
    return `${head.toWellFormed()}\n[… ${left} characters left out …]\n${tail.toWellFormed()}`;
  }
}

/** One line, cut to `limit` characters. */
export function boundedLine(line: string, limit: number): string {
  return line.length <= limit ? line : `${cut(line, 0, limit).toWellFormed()}…`;
}

/** The result of a function; null where that takes longer than so many milliseconds, also in the middle of a regular expression. */
export type RunWithin = <T>(milliseconds: number, work: () => T) => { readonly value: T } | null;

/** Node only. */
export async function createRunWithin(): Promise<RunWithin> {
  const { createContext, Script } = await import("node:vm");
  const call = { work: (): void => {} };
  const script = new Script("call.work()");
  const context = createContext({ call });
  return <T>(milliseconds: number, work: () => T) => {
    let result: { value: T } | null = null;
    call.work = () => {
      result = { value: work() };
    };
    try {
      script.runInContext(context, { timeout: Math.max(1, Math.ceil(milliseconds)) });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return null;
    }
    return result;
  };
}
