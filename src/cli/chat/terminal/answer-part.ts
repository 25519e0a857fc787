import { Markdown } from "@mariozechner/pi-tui/dist/components/markdown.js";
import { Text } from "@mariozechner/pi-tui/dist/components/text.js";
import type { Component } from "@mariozechner/pi-tui/dist/tui.js";
import type { RunWithin } from "../../../runner/tools/run-within.js";
import type { Style } from "../../style.js";
import { markdownTheme } from "./theme.js";

/** Milliseconds that drawing a part as Markdown may take. Some texts would take minutes. */
const MAX_TIME = 2_000;

/** A part of an answer, drawn as Markdown. Once that takes too long, or is nested too deeply, the part is drawn as it was written. */
export class AnswerPart implements Component {
  #component: Markdown | Text;
  #drawn: { readonly width: number; readonly lines: string[] } | null = null;

  constructor(
    style: Style,
    private readonly runWithin: RunWithin,
    private text = "",
  ) {
    this.#component = new Markdown(text, 0, 0, markdownTheme(style));
  }

  get isPlain(): boolean {
    return this.#component instanceof Text;
  }

  setText(text: string): void {
    this.text = text;
    this.#component.setText(text);
    this.#drawn = null;
  }

  render(width: number): string[] {
    if (this.#drawn?.width !== width) {
      const draw = () => this.#component.render(width);
      this.#drawn = { width, lines: (this.isPlain ? null : this.attempt(draw)) ?? draw() };
    }
    return this.#drawn.lines;
  }

  /** What the work gives; null where it has no end in time, and then the part is plain. */
  attempt<T>(work: () => T): T | null {
    try {
      const done = this.runWithin(MAX_TIME, work);
      if (done !== null) return done.value;
    } catch (error) {
      // What calls itself too often.
      if (!(error instanceof RangeError)) throw error;
    }
    this.#component = new Text(this.text, 0, 0);
    return null;
  }

  invalidate(): void {
    this.#component.invalidate();
    this.#drawn = null;
  }
}
