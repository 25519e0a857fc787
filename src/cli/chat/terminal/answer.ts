import { Markdown } from "@mariozechner/pi-tui/dist/components/markdown.js";
import type { Component } from "@mariozechner/pi-tui/dist/tui.js";
import type { Style } from "../../style.js";
import { printable } from "../../text.js";
import { markdownTheme } from "./theme.js";

/** An answer of the model, drawn as far as it has come. */
export class Answer implements Component {
  readonly #markdown: Markdown;
  #text = "";
  #drawn = "";

  constructor(style: Style) {
    this.#markdown = new Markdown("", 0, 0, markdownTheme(style));
  }

  add(text: string): void {
    this.#text += text;
  }

  render(width: number): string[] {
    // The whole text at once: a line break can come in two pieces.
    if (this.#drawn !== this.#text) this.#markdown.setText(printable(this.#text));
    this.#drawn = this.#text;
    return this.#markdown.render(width);
  }

  invalidate(): void {
    this.#markdown.invalidate();
  }
}
