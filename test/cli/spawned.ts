import { type ChildProcess, spawn } from "node:child_process";
import { linesOf } from "./run.js";

/** The command as a process that goes on until it is stopped. */
export class Spawned {
  out = "";
  err = "";
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, [program, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.err += text;
    });
    this.ended = new Promise((end) => this.#child.once("close", (code, signal) => end({ code, signal })));
  }

  /** The lines of JSON that it wrote so far. */
  get lines(): Record<string, unknown>[] {
    return linesOf(this.out.slice(0, this.out.lastIndexOf("\n") + 1)) as Record<string, unknown>[];
  }

  stop(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
