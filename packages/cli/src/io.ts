import { statSync } from "node:fs";
import { constants } from "node:os";
import { createInterface } from "node:readline/promises";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { invalid, StemmaError } from "@stemma/model";
import { type FileContent, replaceFile, whyNotWritten } from "@stemma/model/files";
/** Where a command reads and writes. Tests give one that collects. */
export interface Io {
  /** Writes to standard output; resolves when it takes more. */
  write(text: string): Promise<void>;
  writeError(text: string): void;
  /** The command goes on, but ends with the exit code of a failure: 1, unless another is given. */
  fail(code?: number): void;
  /** From here on the process rather collects garbage than takes more memory. */
  saveMemory(): void;
  readonly input: AsyncIterable<Uint8Array>;
  /** True when somebody reads along. */
  readonly isTerminal: { readonly input: boolean; readonly output: boolean; readonly error: boolean };
  readonly width: number;
}

/** The streams of this process. A reader that closes its end (`stemma … | head`) ends the process, in silence. */
export function processIo(): Io {
  const { stdin, stdout, stderr } = process;
  for (const stream of [stdout, stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  return {
    write: async (text) => {
      if (!stdout.write(text)) await new Promise((resolve) => stdout.once("drain", resolve));
    },
    writeError: (text) => {
      stderr.write(text);
    },
    fail: (code = 1) => {
      process.exitCode = code;
    },
    saveMemory: () => {
      // V8 lets its heap grow to several times what is in use. Its young generation then stays as small as it is now.
      for (const flag of ["--optimize-for-size", "--semi-space-growth-factor=1"]) setFlagsFromString(flag);
    },
    input: stdin,
    isTerminal: { input: stdin.isTTY === true, output: stdout.isTTY === true, error: stderr.isTTY === true },
    width: stdout.columns ?? 100,
  };
}

/**
 * Writes the file that an option names, whole or not at all; only its owner can read it. Errors: `INVALID_ARGUMENT` for a
 * path at which no file can be written, and those of `content`.
 */
export async function writeOutput(path: string, content: FileContent): Promise<void> {
  const refuse = (why: string, cause?: unknown) =>
    invalid(`"${path}" cannot be written: ${why}. Name another file.`, { path }, { cause });
  try {
    // Before the work, and so that no device is replaced by a file.
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw refuse("it is a folder");
    if (found && !found.isFile()) throw refuse("it is a device or a pipe");
    await replaceFile(path, content, { mode: 0o600 });
  } catch (error) {
    if (StemmaError.isInstance(error) || !(error instanceof Error) || !("syscall" in error)) throw error;
    throw refuse(whyNotWritten(path, error), error);
  }
}

/** Asks a question on standard error that is answered with yes or no. Where nobody can answer, that is no. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  if (!io.isTerminal.input) return false;
  io.writeError(`${question} [y/N] `);
  const lines = createInterface({ input: Readable.from(io.input) });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type StopSignal = (typeof SIGNALS)[number];

/** Resolves when the user, or the system, ends the program. */
export async function untilStopped(): Promise<void> {
  await stoppable((signal) => new Promise<void>((stop) => signal.addEventListener("abort", () => stop())));
}

/**
 * Does work that Ctrl-C, or the system, may end early: that aborts the signal. A second Ctrl-C ends the process at once.
 */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopped = new AbortController();
  const stop = (name: StopSignal): void => {
    release();
    stopped.abort(name);
  };
  const release = (): void => {
    for (const name of SIGNALS) process.off(name, stop);
  };
  for (const name of SIGNALS) process.on(name, stop);
  try {
    return await work(stopped.signal);
  } finally {
    release();
  }
}

/** The exit code of a program that this signal ended before it was done: 130 for Ctrl-C. */
export function exitCodeOf({ reason }: AbortSignal): number {
  return 128 + constants.signals[reason as StopSignal];
}
