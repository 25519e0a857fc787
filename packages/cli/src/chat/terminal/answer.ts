import { Markdown } from "@mariozechner/pi-tui/dist/components/markdown.js";
import { Text } from "@mariozechner/pi-tui/dist/components/text.js";
import type { Component } from "@mariozechner/pi-tui/dist/tui.js";
import type { RunWithin } from "@stemma/runner";
import { lexer } from "marked";
import type { Style } from "../../text.js";
import { printable } from "../../text.js";
import { markdownTheme } from "./screen.js";

/** Characters of the end of an answer that are drawn anew with each piece that comes, unless they are one paragraph, list or table. */
const MAX_OPEN = 2_000;

/** An answer of the model, drawn as far as it has come. */
export class Answer implements Component {
  /** Parts that no further text changes. */
  readonly #finished: AnswerPart[] = [];
  readonly #open: AnswerPart;
  #text = "";
  #drawn = "";
  /** A carriage return whose line feed may come with the next piece. */
  #held = "";
  #nextLook = MAX_OPEN;

  constructor(
    private readonly style: Style,
    private readonly runWithin: RunWithin,
  ) {
    this.#open = new AnswerPart(style, runWithin);
  }

  add(text: string): void {
    const whole = this.#held + text;
    this.#held = whole.endsWith("\r") ? "\r" : "";
    this.#text += printable(this.#held === "" ? whole : whole.slice(0, -1));
  }

  render(width: number): string[] {
    if (this.#drawn !== this.#text) {
      this.#open.setText(this.#text);
      if (this.#text.length > this.#nextLook && !this.#open.isPlain) this.#finish();
      this.#drawn = this.#text;
    }
    return [...this.#finished.flatMap((part) => part.render(width)), ...this.#open.render(width)];
  }

  invalidate(): void {
    for (const part of [...this.#finished, this.#open]) part.invalidate();
  }

  /** Sets the blocks apart that are finished: those before the last blank line between two blocks. */
  #finish(): void {
    this.#nextLook = this.#text.length + MAX_OPEN;
    const tokens = this.#open.attempt(() => lexer(this.#text)) ?? [];
    const last = tokens.findLastIndex(({ type }, index) => type === "space" && index < tokens.length - 1);
    const finished = tokens
      .slice(0, last + 1)
      .map(({ raw }) => raw)
      .join("");
    const rest = this.#text.slice(finished.length);
    // The first characters of a line do not tell yet whether it goes on with a list.
    if (finished === "" || !this.#text.startsWith(finished) || !rest.includes("\n")) return;
    this.#finished.push(new AnswerPart(this.style, this.runWithin, finished));
    this.#open.setText(rest);
    this.#text = rest;
    this.#nextLook = Math.max(MAX_OPEN, rest.length + MAX_OPEN / 2);
  }
}

/** Milliseconds that drawing a part as Markdown may take. Some texts would take minutes. */
const MAX_TIME = 2_000;

/** A part of an answer, drawn as Markdown. Once that takes too long, or is nested too deeply, the part is drawn as it was written. */
class AnswerPart implements Component {
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

  /** The result of `work`; null where it has no end in time, and then the part is plain. */
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
