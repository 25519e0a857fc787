import { ProcessTerminal } from "@mariozechner/pi-tui/dist/terminal.js";
import type { TUI } from "@mariozechner/pi-tui/dist/tui.js";
import { FittingTui } from "./fitting-tui.js";

/** How the library begins to draw everything anew: it erases the screen, and what has gone out at its top. */
const ERASE_ALL = "\u001b[2J\u001b[H\u001b[3J";
const ERASE_SCREEN = "\u001b[2J\u001b[H";

/** A `TUI` on the terminal of the process that erases nothing that has gone out at the top of the screen. */
export function keepingTui(): TUI {
  // The library keeps this to itself.
  const tui: TUI = new FittingTui(new KeepingTerminal(() => Number(Reflect.get(tui, "previousViewportTop"))));
  return tui;
}

/**
 * The terminal of the process. What the user did before the chat stays above it, and so does what the chat has shown: where the
 * library draws everything anew, this draws the screen, and what goes out at its top by that.
 */
class KeepingTerminal extends ProcessTerminal {
  /** Of the window that was drawn last. */
  #size = "";

  /** `firstLine` is the first line that the screen shows, as it was drawn last. */
  constructor(private readonly firstLine: () => number) {
    super();
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    this.#size = "";
    super.start(onInput, onResize);
  }

  override write(data: string): void {
    const size = `${this.columns}×${this.rows}`;
    const isSameWindow = size === this.#size;
    this.#size = size;
    const at = data.indexOf(ERASE_ALL);
    if (at < 0) {
      super.write(data);
      return;
    }
    const lines = data.slice(at + ERASE_ALL.length).split("\r\n");
    const bottom = Math.max(0, lines.length - this.rows);
    const first = isSameWindow ? Math.min(this.firstLine(), bottom) : bottom;
    super.write(data.slice(0, at) + ERASE_SCREEN + lines.slice(first).join("\r\n"));
  }
}
