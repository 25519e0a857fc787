import { PassThrough } from "node:stream";
import { expect, vi } from "vitest";
import { patience } from "./patience.js";

export interface StreamOptions {
  /** A terminal of this size; without it a pipe. */
  terminal?: { columns: number; rows: number };
  /** Told of everything that is written. */
  onWrite?: (text: string) => void;
}

/** Streams in the place of those of this process, until `restore`. So a program runs in the process of its test. */
export interface ReplacedStreams {
  /** What was written to standard output and standard error. */
  output(): string;
  /** Waits until this was written. */
  shows(text: string): Promise<void>;
  type(text: string): void;
  /** Ends the input. */
  end(): void;
  restore(): void;
}

export function replaceStreams({ terminal, onWrite = () => {} }: StreamOptions = {}): ReplacedStreams {
  let output = "";
  const stdin = Object.assign(new PassThrough(), terminal && { isTTY: true, isRaw: false, setRawMode: () => stdin });
  const written = () => {
    const stream = Object.assign(new PassThrough(), terminal && { isTTY: true, ...terminal });
    return stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onWrite(text);
    });
  };
  const replacements = { stdin, stdout: written(), stderr: written() };
  const spies = Object.entries(replacements).map(([name, stream]) =>
    vi.spyOn(process, name as "stdin", "get").mockReturnValue(stream as never),
  );
  return {
    output: () => output,
    shows: (text) => vi.waitFor(() => expect(output).toContain(text), patience(15_000)),
    type: (text) => void stdin.write(text),
    end: () => void stdin.end(),
    restore: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}
