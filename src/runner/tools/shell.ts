import { objectSchema } from "../../tools/input-schema.js";
import { BoundedOutput } from "./bounded.js";
import { type BuiltinSettings, createBuiltinTool } from "./builtin-tool.js";
import { CommandProcesses } from "./command-processes.js";

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 600;
/** How long the output of an ended command is waited for, in milliseconds. */
const GRACE = 500;

export const createShellTool = (settings: BuiltinSettings) =>
  createBuiltinTool(settings, {
    name: "shell",
    description: `Run a command with sh, starting in the working directory. It is ended after ${DEFAULT_SECONDS} seconds unless told otherwise, and with it what it left in the background.`,
    changes: true,
    input: objectSchema(
      {
        command: { type: "string", minLength: 1 },
        seconds: { type: "integer", minimum: 1, maximum: MAX_SECONDS, description: "How long it may run." },
      },
      ["command"],
    ),
    async run({ command, seconds = DEFAULT_SECONDS }, { workspace, abortSignal }) {
      const processes = new CommandProcesses(settings.env);
      const cwd = await workspace.directory();
      const { output, ending } = await runCommand(command, { cwd, seconds, processes, signal: abortSignal });
      const shown = output.trimEnd();
      return `${shown}${shown === "" ? "" : "\n"}(${ending})`;
    },
  });

interface Ended {
  readonly output: string;
  readonly ending: string;
}

interface RunOptions {
  readonly cwd: string;
  readonly seconds: number;
  readonly processes: CommandProcesses;
  readonly signal: AbortSignal | undefined;
}

async function runCommand(command: string, { cwd, seconds, processes, signal }: RunOptions): Promise<Ended> {
  const { spawn } = await import("node:child_process");
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    // A group of its own, so that what the command starts ends with it.
    const child = spawn("/bin/sh", ["-c", command], {
      cwd,
      env: processes.environment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = new BoundedOutput();
    let stopped: string | null = null;
    let ending: Promise<void> = Promise.resolve();
    const end = () => {
      const { pid } = child;
      if (pid !== undefined) ending = ending.then(() => processes.end(pid));
      ending.catch(reject);
    };
    const stop = (why: string) => {
      stopped ??= why;
      end();
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
      end();
      // What could not be ended may keep the output open.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, GRACE).unref();
    });
    child.once("close", (code, killed) => {
      done();
      const why = stopped ?? (killed === null ? `exit code ${code}` : `ended by ${killed}`);
      ending.then(() => resolve({ output: output.toString(), ending: why }), reject);
    });
  });
}
