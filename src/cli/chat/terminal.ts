import { createInterface, type Interface } from "node:readline";
import { printable } from "../text.js";

/** Lines in, text out; on a terminal with a prompt and colour. */
export class Terminal {
  /** A person sits there. */
  readonly interactive: boolean;
  readonly #lines: Interface;
  readonly #colour: boolean;
  #column = 0;
  #onInterrupt: () => void = () => {};
  readonly #interrupt = () => this.#onInterrupt();
  /** Set by `close`. */
  closed = false;

  constructor(
    private readonly input: NodeJS.ReadStream,
    private readonly output: NodeJS.WriteStream,
  ) {
    this.interactive = input.isTTY === true && output.isTTY === true;
    this.#colour = output.isTTY === true && !process.env.NO_COLOR;
    this.#lines = createInterface({ input, ...(this.interactive ? { output, prompt: "> " } : {}) });
    this.#lines.on("SIGINT", this.#interrupt);
    process.on("SIGINT", this.#interrupt);
  }

  /** Columns that a line may take. */
  get width(): number {
    return this.output.columns ?? 100;
  }

  /** What Ctrl-C does. */
  onInterrupt(handler: () => void): void {
    this.#onInterrupt = handler;
  }

  /** The lines that are typed, until the end of the input or `close`. None is lost while one is worked on. */
  async *lines(): AsyncGenerator<string> {
    const waiting: string[] = [];
    let ended = false;
    let wake = () => {};
    this.#lines.on("line", (line) => {
      waiting.push(line);
      wake();
    });
    this.#lines.once("close", () => {
      ended = true;
      wake();
    });
    for (;;) {
      if (this.closed) return;
      const line = waiting.shift();
      if (line !== undefined) {
        this.#column = 0;
        yield line;
        continue;
      }
      if (ended) return;
      this.prompt();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  /** Ends `lines`; what is typed already is dropped. */
  close(): void {
    this.closed = true;
    process.off("SIGINT", this.#interrupt);
    this.#lines.close();
    // A closed readline leaves a pipe open behind it, and the process waiting.
    this.input.destroy();
  }

  /** Writes text that came from anywhere: nothing in it can steer the terminal. */
  write(text: string): void {
    const shown = printable(text);
    if (shown === "") return;
    this.output.write(shown);
    this.#column = shown.endsWith("\n") ? 0 : 1;
  }

  /** Ends a line that is begun. */
  endLine(): void {
    if (this.#column > 0) this.output.write("\n");
    this.#column = 0;
  }

  line(text = ""): void {
    this.endLine();
    this.write(`${text}\n`);
  }

  /** Shows the prompt again after a line that came in between. */
  prompt(): void {
    if (this.interactive) this.#lines.prompt();
  }

  /** A line beside the conversation. */
  note(text: string): void {
    this.#styled(text, 2);
  }

  warn(text: string): void {
    this.#styled(text, 33);
  }

  #styled(text: string, code: number): void {
    this.endLine();
    const shown = printable(text);
    this.output.write(this.#colour ? `\u001b[${code}m${shown}\u001b[0m\n` : `${shown}\n`);
  }
}
