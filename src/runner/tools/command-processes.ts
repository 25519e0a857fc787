import { codeOf } from "../../files/replace-file.js";

/** The variable by which what a command starts is found again, also outside of its process group. */
const MARK = "STEMMA_COMMAND";

/** What of the host's environment a command sees unless it is told more: no keys. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|PWD)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** How often the processes are looked through at most. */
const MAX_LOOKS = 100;

/** The processes of one command: those of its group, and on Linux those that left it, as long as they keep its environment. */
export class CommandProcesses {
  readonly #mark: string;

  constructor(private readonly given: Environment) {
    // A command of a command bears both marks.
    const outer = host().env[MARK];
    this.#mark = `${outer === undefined ? "" : `${outer},`}${crypto.randomUUID()}`;
  }

  /** The environment that the command starts with. */
  get environment(): Record<string, string> {
    const passed = Object.entries(host().env).filter(([name]) => PASSED.test(name));
    const all = Object.entries({ ...Object.fromEntries(passed), ...this.given, [MARK]: this.#mark });
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
