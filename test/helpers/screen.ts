import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import xterm from "@xterm/headless";

const IN_TERMINAL = fileURLToPath(new URL("./in-terminal.py", import.meta.url));

export interface ScreenOptions {
  columns?: number;
  rows?: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

/** A program in a pseudo-terminal, and the screen that a person would see. */
export class Screen {
  readonly #terminal: InstanceType<typeof xterm.Terminal>;
  readonly #child: ChildProcess;
  /** The exit code, once the program has ended. */
  readonly ended: Promise<number | null>;
  /** Everything that the program wrote. */
  raw = "";

  constructor(command: readonly string[], { columns = 80, rows = 24, env, cwd }: ScreenOptions = {}) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
    this.#child = spawn("python3", [IN_TERMINAL, String(columns), String(rows), ...command], {
      env: { ...process.env, TERM: "xterm-256color", ...env },
      cwd,
      stdio: ["pipe", "pipe", "inherit", "pipe"],
    });
    this.ended = new Promise((resolve) => this.#child.once("close", (code) => resolve(code)));
    this.#child.stdout?.on("data", (bytes: Buffer) => {
      this.raw += bytes.toString();
      this.#terminal.write(bytes);
    });
    // What the terminal answers to questions of the program.
    this.#terminal.onData((answer) => this.type(answer));
    this.#child.stdin?.on("error", () => {});
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Types as a terminal does when a text is pasted. */
  paste(text: string): void {
    this.type(`\u001b[200~${text.replaceAll("\n", "\r")}\u001b[201~`);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    (this.#child.stdio[3] as NodeJS.WritableStream).write(`${columns} ${rows}\n`);
  }

  /** The lines on the screen now. */
  lines(): string[] {
    return this.#linesFrom(this.#terminal.buffer.active.baseY);
  }

  /** The same with all that went out at the top. */
  allLines(): string[] {
    return this.#linesFrom(0);
  }

  text(): string {
    return this.lines().join("\n");
  }

  /** Everything that was ever shown and is not erased. */
  allText(): string {
    return this.allLines().join("\n");
  }

  /** How the cells of the first place of a text are drawn. */
  look(text: string): { bold: boolean; dim: boolean; inverse: boolean; colour: number } | null {
    const buffer = this.#terminal.buffer.active;
    for (let row = 0; row < buffer.length; row += 1) {
      const line = buffer.getLine(row);
      const column = line?.translateToString(true).indexOf(text) ?? -1;
      const cell = column < 0 ? undefined : line?.getCell(column);
      if (cell === undefined) continue;
      return {
        bold: cell.isBold() !== 0,
        dim: cell.isDim() !== 0,
        inverse: cell.isInverse() !== 0,
        colour: cell.getFgColor(),
      };
    }
    return null;
  }

  /** Waits until the screen shows this. */
  async shows(text: string | RegExp, timeout = 15_000): Promise<string> {
    const matches = () => (typeof text === "string" ? this.text().includes(text) : text.test(this.text()));
    return this.#until(matches, `does not show ${String(text)}`, timeout);
  }

  async showsNot(text: string, timeout = 15_000): Promise<string> {
    return this.#until(() => !this.text().includes(text), `still shows ${text}`, timeout);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.stdin?.end();
    await once(this.#child, "close");
  }

  async #until(holds: () => boolean, problem: string, timeout: number): Promise<string> {
    for (const start = Date.now(); !holds(); ) {
      if (Date.now() - start > timeout) throw new Error(`The screen ${problem}:\n${this.text()}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.text();
  }

  #linesFrom(first: number): string[] {
    const buffer = this.#terminal.buffer.active;
    const lines: string[] = [];
    for (let row = first; row < buffer.length; row += 1)
      lines.push((buffer.getLine(row)?.translateToString(true) ?? "").trimEnd());
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }
}
