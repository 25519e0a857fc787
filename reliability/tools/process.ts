import { type ChildProcess, spawn } from "node:child_process";

/** A program that says a line for each thing that it was told is stored. */
export interface Program {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly lines: string[];
  /** Rejects where it ended by itself with an error. */
  readonly ended: Promise<void>;
  /** Waits for the next line; null when there is none. */
  next(): Promise<string | null>;
  tell(line: string): void;
}

export function start(path: string, ...args: string[]): Program {
  const child = spawn(process.execPath, [path, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  const lines: string[] = [];
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("close", (code, signal) => {
      if (code === 0 || signal === "SIGKILL") resolve();
      else reject(new Error(`${path} ended with ${code}: ${errors}`));
    });
  });
  ended.catch(() => {});
  // A line that it was killed in the middle of is none.
  const reader = splitLines(child.stdout, (line) => lines.push(line));
  let heard = 0;
  return {
    child,
    lines,
    ended,
    async next() {
      while (heard >= lines.length) if (!(await reader())) return lines[heard++] ?? null;
      return lines[heard++] ?? null;
    },
    tell: (line) => child.stdin.write(`${line}\n`),
  };
}

// Gives a function that waits for more lines, and resolves to false when there will be none.
function splitLines(stream: NodeJS.ReadableStream, add: (line: string) => void): () => Promise<boolean> {
  let rest = "";
  let wake = () => {};
  let done = false;
  stream.on("data", (chunk) => {
    const pieces = (rest + chunk).split("\n");
    rest = pieces.pop() ?? "";
    pieces.forEach(add);
    wake();
  });
  stream.on("close", () => {
    done = true;
    wake();
  });
  return async () => {
    if (!done) await new Promise<void>((resolve) => (wake = resolve));
    return !done;
  };
}

/** Runs `work` for each number below `count`, in as many lanes as there are. */
export async function inLanes(count: number, lanes: number, work: (lane: number, index: number) => Promise<void>) {
  let next = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (next < count) await work(lane, next++);
    }),
  );
}
