import { StemmaError } from "@stemma/model";
import type { Item, Position } from "./stemma/session-file.js";
import { findNoUtf8 } from "./utf8.js";

/** How many times as long as it may be a text is, where it has no end. */
const ENDLESS = 10;

/** The pieces of a text, up to a number of characters: of a longer one nothing is held. */
export class Pieces {
  #pieces: string[] = [];
  #length = 0;

  constructor(private readonly maxLength: number) {}

  push(piece: string): void {
    this.#length += piece.length;
    if (this.#length > this.maxLength) this.#pieces = [];
    else if (piece !== "") this.#pieces.push(piece);
  }

  /** Throws `FILE_REFUSED` for a text that was to end long ago: it would be read without end. */
  assertEnds({ line }: Position): void {
    const most = ENDLESS * this.maxLength;
    if (this.#length <= most) return;
    const message = `The value that begins on line ${line} has more than ${most} characters, and no end. What stands before it is read.`;
    throw new StemmaError("FILE_REFUSED", { line }, message);
  }

  /** The item that the text is, with so many bytes before it on its line; null when there is none. */
  take(at: Position, before = 0): Item | null {
    const text = this.#pieces.join("");
    const isTooLong = this.#length > this.maxLength;
    this.#pieces = [];
    this.#length = 0;
    if (isTooLong) return { kind: "problem", why: `it has more than ${this.maxLength} characters`, at };
    const wrong = findNoUtf8(text);
    if (wrong === null) return text.trim() === "" ? null : parseItem(text.trim(), at);
    const byte = wrong.column + (wrong.lines === 0 ? before : 0);
    const hex = wrong.byte.toString(16).padStart(2, "0");
    return { kind: "problem", why: `not UTF-8 (0x${hex}, byte ${byte} of line ${at.line + wrong.lines})`, at };
  }
}

function parseItem(text: string, at: Position): Item {
  try {
    return { kind: "value", value: JSON.parse(text), at, length: text.length };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "problem", why: `not JSON (${error.message})`, at };
  }
}
