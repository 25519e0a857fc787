import { setFlagsFromString } from "node:v8";

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
  /** Columns of the terminal. */
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
