import type { Item, Position } from "./session-file.js";

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

  /** The item that the text is; null when there is none. */
  take(at: Position): Item | null {
    const text = this.#pieces.join("").trim();
    const isTooLong = this.#length > this.maxLength;
    this.#pieces = [];
    this.#length = 0;
    if (isTooLong) return { kind: "problem", why: `it has more than ${this.maxLength} characters`, at };
    return text === "" ? null : parseItem(text, at);
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
