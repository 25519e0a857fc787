import { codeOf } from "@stemma/model/files";
import { objectSchema } from "@stemma/session";
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

/** The variable by which what a command starts is found again, also outside of its process group. */
const MARK = "STEMMA_COMMAND";

/** The host's variables that a command sees unless more are passed: no keys. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|PWD)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** How often the processes are looked through at most. */
const MAX_LOOKS = 100;

/** The processes of one command: those of its group, and on Linux those that left it, as long as they keep its environment. */
class CommandProcesses {
  readonly #mark: string;

  constructor(private readonly variables: Environment) {
    // A command of a command bears both marks.
    const outer = host().env[MARK];
    this.#mark = `${outer === undefined ? "" : `${outer},`}${crypto.randomUUID()}`;
  }

  get environment(): Record<string, string> {
    const passed = Object.entries(host().env).filter(([name]) => PASSED.test(name));
    const all = Object.entries({ ...Object.fromEntries(passed), ...this.variables, [MARK]: this.#mark });
    return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /** Ends all of them. `group` is the process that the command began as. */
  async end(group: number): Promise<void> {
    kill(-group);
    const { readdir, readFile } = await import("node:fs/promises");
    const others = new Set<string>();
    const empty = new Set<string>();
    // One of them may start another and end between being listed and being looked at. So that counts as nothing seen.
    for (let looks = 0, all = false; looks < MAX_LOOKS && !all; looks += 1) {
      all = true;
      // Only Linux has it.
      const names = await readdir("/proc").catch(() => []);
      const look = async (pid: string) => {
        const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch((error) => String(codeOf(error)));
        if (environment === "EACCES" || environment === "EPERM") others.add(pid);
        else if (environment === "" || !environment.includes("=")) {
          // It has ended, is starting a program just now, or is the kernel's.
          if (!empty.has(pid)) all = false;
          empty.add(pid);
        } else if (environment.split("\0").some((entry) => entry.startsWith(`${MARK}=${this.#mark}`))) {
          kill(Number(pid));
          all = false;
        } else others.add(pid);
      };
      await Promise.all(names.filter((name) => /^\d+$/.test(name) && !others.has(name)).map(look));
    }
  }
}

function kill(pid: number): void {
  try {
    host().kill(pid, "SIGKILL");
  } catch (error) {
    // It ended by itself meanwhile, or has become another user's.
    if (!["ESRCH", "EPERM"].includes(String(codeOf(error)))) throw error;
  }
}

function host(): { env: Environment; kill(pid: number, signal: string): void } {
  return (globalThis as unknown as { process: ReturnType<typeof host> }).process;
}
