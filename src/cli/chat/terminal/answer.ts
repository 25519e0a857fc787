import type { Component } from "@mariozechner/pi-tui/dist/tui.js";
import { lexer } from "marked";
import type { RunWithin } from "../../../runner/tools/run-within.js";
import type { Style } from "../../style.js";
import { printable } from "../../text.js";
import { AnswerPart } from "./answer-part.js";

/** Characters of the end of an answer that are drawn anew with each piece that comes, unless they are one paragraph, list or table. */
const MAX_OPEN = 2_000;

/** An answer of the model, drawn as far as it has come. */
export class Answer implements Component {
  /** What cannot change any more, whatever comes. */
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
