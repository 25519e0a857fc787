import { z } from "zod";
import { BoundedOutput } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 600;
/** How long the output of an ended command is waited for, in milliseconds. */
const GRACE = 500;

export const createShellTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "shell",
    description: `Run a command with sh, starting in the working directory. It is ended after ${DEFAULT_SECONDS} seconds unless told otherwise, and with it what it left in the background.`,
    changes: true,
    inputSchema: z.object({
      command: z.string().min(1),
      seconds: z.number().int().min(1).max(MAX_SECONDS).optional().describe("How long it may run."),
    }),
    async run({ command, seconds = DEFAULT_SECONDS }, { workspace, abortSignal }) {
      const { output, ending } = await runCommand(command, await workspace.directory(), seconds, abortSignal);
      const shown = output.trimEnd();
      return `${shown}${shown === "" ? "" : "\n"}(${ending})`;
    },
  });

interface Ended {
  readonly output: string;
  readonly ending: string;
}

async function runCommand(
  command: string,
  cwd: string,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<Ended> {
  const { spawn } = await import("node:child_process");
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    // A group of its own, so that what the command starts ends with it.
    const child = spawn("/bin/sh", ["-c", command], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const output = new BoundedOutput();
    let stopped: string | null = null;
    const stop = (why: string) => {
      stopped ??= why;
      if (child.pid !== undefined) endGroup(child.pid);
    };
    const onAbort = () => stop("aborted");
    const timer = setTimeout(() => stop(`ended after ${seconds} seconds`), seconds * 1000);
    signal?.addEventListener("abort", onAbort, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => output.append(text));
    }
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    child.once("error", (error) => {
      done();
      reject(error);
    });
    child.once("exit", () => {
      if (child.pid !== undefined) endGroup(child.pid);
      // What left the group may keep the output open.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, GRACE).unref();
    });
    child.once("close", (code, killed) => {
      done();
      resolve({
        output: output.toString(),
        ending: stopped ?? (killed === null ? `exit code ${code}` : `ended by ${killed}`),
      });
    });
  });
}

function endGroup(pid: number): void {
  const { process } = globalThis as unknown as { process: { kill(pid: number, signal: string): void } };
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // It ended by itself meanwhile.
    if ((error as { code?: unknown }).code !== "ESRCH") throw error;
  }
}
