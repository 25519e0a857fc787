import type { Style } from "../../style.js";
import { printable } from "../../text.js";

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
