import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Display } from "./display.js";

const IN_TERMINAL = fileURLToPath(new URL("./in-terminal.py", import.meta.url));

export interface ScreenOptions {
  columns?: number;
  rows?: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

/** A program in a pseudo-terminal, and the screen that a person would see. */
export class Screen extends Display {
  readonly #child: ChildProcess;
  /** The exit code, once the program has ended. */
  readonly ended: Promise<number | null>;
  /** Everything that the program wrote. */
  raw = "";

  constructor(command: readonly string[], { columns = 80, rows = 24, env, cwd }: ScreenOptions = {}) {
    super(columns, rows);
    this.#child = spawn("python3", [IN_TERMINAL, String(columns), String(rows), ...command], {
      env: { ...process.env, TERM: "xterm-256color", ...env },
      cwd,
      stdio: ["pipe", "pipe", "inherit", "pipe"],
    });
    this.ended = new Promise((resolve) => this.#child.once("close", (code) => resolve(code)));
    this.#child.stdout?.on("data", (bytes: Buffer) => {
      this.raw += bytes.toString();
      this.draw(bytes);
    });
    this.onAnswer((answer) => this.type(answer));
    this.#child.stdin?.on("error", () => {});
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Types as a terminal does when a text is pasted. */
  paste(text: string): void {
    this.type(`\u001b[200~${text.replaceAll("\n", "\r")}\u001b[201~`);
  }

  override resize(columns: number, rows: number): void {
    super.resize(columns, rows);
    (this.#child.stdio[3] as NodeJS.WritableStream).write(`${columns} ${rows}\n`);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.stdin?.end();
    await once(this.#child, "close");
  }
}
