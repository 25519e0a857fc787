import { createInterface, type Interface } from "node:readline";
import { printable, type Style, styleFor } from "../../text.js";
import type { Completable } from "./prompt-editor.js";
import type { Terminal } from "./terminal.js";
import { StyledTerminal } from "./terminal.js";
/** The terminal of this process: a screen where a person sits at one that can move its cursor, else lines. */
export async function openTerminal(commands: readonly Completable[]): Promise<Terminal> {
  const { stdin, stdout } = process;
  if (stdin.isTTY !== true || stdout.isTTY !== true || process.env.TERM === "dumb")
    return new LineTerminal(stdin, stdout);
  // Loaded only where it is used: a pipe starts without it.
  const { ScreenTerminal } = await import("./screen-terminal.js");
  return ScreenTerminal.open(commands);
}

/** A chat in lines: each line of the input is a message. For pipes, and terminals that cannot move the cursor. */
export class LineTerminal extends StyledTerminal implements Terminal {
  readonly interactive: boolean;
  readonly style: Style;
  readonly #lines: Interface;
  readonly #waiting: string[] = [];
  #ended = false;
  #wake = () => {};
  #column = 0;

  constructor(
    private readonly input: NodeJS.ReadStream,
    private readonly output: NodeJS.WriteStream,
  ) {
    super();
    this.interactive = input.isTTY === true && output.isTTY === true;
    this.style = styleFor(output.isTTY === true);
    this.#lines = createInterface({ input, ...(this.interactive ? { output, prompt: "> " } : {}) });
    // From the beginning: a pipe may have ended before the conversation is open.
    this.#lines.on("line", (line) => {
      this.hinted = false;
      this.#waiting.push(line);
      this.#wake();
    });
    this.#lines.once("close", () => {
      this.#ended = true;
      this.#wake();
    });
    this.#lines.on("SIGINT", this.interrupt);
    process.on("SIGINT", this.interrupt);
  }

  get width(): number {
    return this.output.columns ?? 100;
  }

  async *entries(): AsyncGenerator<string> {
    for (;;) {
      if (this.closed) return;
      const line = this.#waiting.shift();
      if (line !== undefined) {
        this.#column = 0;
        yield line;
        continue;
      }
      if (this.#ended) return;
      this.#prompt();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.closed = true;
    process.off("SIGINT", this.interrupt);
    this.#lines.close();
    // A closed readline leaves a pipe open behind it, and the process waiting.
    this.input.destroy();
  }

  async end(): Promise<void> {
    this.close();
  }

  write(text: string): void {
    this.#put(printable(text));
  }

  endLine(): void {
    if (this.#column > 0) this.output.write("\n");
    this.#column = 0;
  }

  earlier(text: string): void {
    this.line(`> ${text}`);
  }

  styled(text: string): void {
    this.endLine();
    this.#put(`${text}\n`);
  }

  hint(text: string): void {
    this.note(text);
    this.hinted = true;
    this.#prompt();
  }

  /** Not shown: it would stand among the lines. */
  busy(): void {}

  #put(text: string): void {
    if (text === "") return;
    this.output.write(text);
    this.#column = text.endsWith("\n") ? 0 : 1;
  }

  #prompt(): void {
    if (this.interactive) this.#lines.prompt();
  }
}
