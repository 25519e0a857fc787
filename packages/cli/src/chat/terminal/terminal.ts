import type { Style } from "../../text.js";
import { printable } from "../../text.js";
/** Where a chat is read and shown: a screen for a person, or lines for a pipe. Nothing that is shown can steer the terminal. */
export interface Terminal {
  /** A person sits there. */
  readonly interactive: boolean;
  /** Columns that a line may take. */
  readonly width: number;
  readonly style: Style;
  /** Set by `close`. */
  readonly closed: boolean;
  /** True from `hint` on, until something is typed. */
  readonly hinted: boolean;

  /** Sets the handler of Ctrl-C. On a screen Ctrl-C first empties a prompt that holds text. */
  onInterrupt(handler: () => void): void;
  /** The messages and commands that are typed, until the end of the input or `close`. What is typed while one is worked on waits. */
  entries(): AsyncGenerator<string>;
  /** Ends `entries`; what waits is dropped. */
  close(): void;
  /** Gives the terminal back, at the end of the chat. */
  end(): Promise<void>;

  /** A piece of the model's answer: Markdown, which a screen draws as it comes. */
  write(text: string): void;
  endLine(): void;
  earlier(text: string): void;
  line(text?: string): void;
  /** A line with styles, whose other parts went through `printable`. */
  styled(text: string): void;
  note(text: string): void;
  warn(text: string): void;
  /** A note at the prompt, until something is typed. */
  hint(text: string): void;
  /** Shows the work under way with its seconds, and whether Ctrl-C stops it; null when nothing runs. */
  busy(what: string | null, canStop?: boolean): void;
}

/** The lines of a terminal, whatever shows them, and what Ctrl-C does there. */
export abstract class StyledTerminal {
  abstract readonly style: Style;
  abstract styled(text: string): void;

  closed = false;
  hinted = false;
  #onInterrupt: () => void = () => {};
  protected readonly interrupt = () => this.#onInterrupt();

  onInterrupt(handler: () => void): void {
    this.#onInterrupt = handler;
  }

  line(text = ""): void {
    this.styled(printable(text));
  }

  note(text: string): void {
    this.styled(this.style.dim(printable(text)));
  }

  warn(text: string): void {
    this.styled(this.style.warning(printable(text)));
  }
}
