import { TUI } from "@mariozechner/pi-tui/dist/tui.js";
import { truncateToWidth } from "@mariozechner/pi-tui/dist/utils.js";

/**
 * A `TUI` none of whose lines is wider than the terminal: of such a line the library ends the process. Its components make one
 * where there is no room: for a character of two columns, for the cursor behind the last character, or for a margin.
 */
export class FittingTui extends TUI {
  #width = 0;
  #drawn: readonly string[] = [];
  #fitted: readonly string[] = [];

  override render(width: number): string[] {
    const lines = super.render(width);
    const [drawn, fitted] = width === this.#width ? [this.#drawn, this.#fitted] : [[], []];
    // Most lines of a long conversation are those of the last time: measuring them all would take long.
    const fitting = lines.map((line, index) => (line === drawn[index] ? fitted[index] : null) ?? cut(line, width));
    this.#width = width;
    this.#drawn = lines;
    this.#fitted = fitting;
    // The library changes the array that it gets.
    return [...fitting];
  }
}

/** What has room of a line; nothing stands for the rest. */
function cut(line: string, width: number): string {
  return truncateToWidth(line, width, "");
}
