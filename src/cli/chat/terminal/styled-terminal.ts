import type { Style } from "../../style.js";
import { printable } from "../../text.js";

/** The lines of a terminal, whatever shows them. */
export abstract class StyledTerminal {
  abstract readonly style: Style;
  abstract styled(text: string): void;

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
