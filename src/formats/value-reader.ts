import { Pieces } from "./item-text.js";
import type { Item, Position } from "./session-file.js";
import { byteLength } from "./utf8.js";

/** Cuts the elements out of lists, and the objects out of a text without a list, by counting brackets outside of strings. */
export class ValueReader {
  readonly #pieces: Pieces;
  /** Line on which the current value started; 0 between values. */
  #started = 0;
  #line = 1;
  /** Bytes of the present line up to where a value last started, and of those before the current value. */
  #bytes = 0;
  #before = 0;
  #depth = 0;
  #inList = false;
  /** Elements of the list that were read. */
  #index = 0;
  #inString = false;
  #escaped = false;

  constructor(maxLength: number) {
    this.#pieces = new Pieces(maxLength);
  }

  *feed(chunk: string): Generator<Item> {
    let from = 0;
    let counted = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const char = chunk[index] as string;
      if (char === "\n") {
        this.#line += 1;
        this.#bytes = 0;
        counted = index + 1;
      }
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (char === "\\") this.#escaped = true;
        else if (char === '"') this.#inString = false;
        continue;
      }
      const base = this.#inList ? 1 : 0;
      if (this.#started === 0) {
        if (char === "[" && !this.#inList) {
          this.#inList = true;
          this.#index = 0;
          this.#depth = 1;
          continue;
        }
        if (char === "]" && this.#inList) {
          this.#inList = false;
          this.#depth = 0;
          yield { kind: "listEnd" };
          continue;
        }
        if (char === "," || /\s/.test(char)) continue;
        this.#started = this.#line;
        this.#bytes += byteLength(chunk.slice(counted, index));
        this.#before = this.#bytes;
        from = index;
        counted = index;
      } else if (this.#depth === base && (char === "," || char === "]" || (char === "\n" && !this.#inList))) {
        // A value without brackets of its own ends where the next one may start.
        yield* this.#take(chunk.slice(from, index));
        if (char === "]" && this.#inList) index -= 1;
        continue;
      }
      if (char === '"') this.#inString = true;
      else if (char === "{" || char === "[") this.#depth += 1;
      else if (char === "}" || char === "]") {
        this.#depth -= 1;
        if (this.#depth === base) yield* this.#take(chunk.slice(from, index + 1));
      }
    }
    this.#bytes += byteLength(chunk.slice(counted));
    if (this.#started === 0) return;
    this.#pieces.push(chunk.slice(from));
    this.#pieces.assertEnds({ line: this.#started });
  }

  *finish(): Generator<Item> {
    if (this.#started !== 0) {
      for (const item of this.#take(""))
        yield item.kind === "problem" ? { ...item, why: "the file ends in the middle of a value" } : item;
    }
    if (this.#inList) yield { kind: "listEnd" };
  }

  *#take(end: string): Generator<Item> {
    this.#pieces.push(end);
    const at: Position = { line: this.#started };
    if (this.#inList) at.path = `$[${this.#index}]`;
    this.#index += 1;
    this.#started = 0;
    const item = this.#pieces.take(at, this.#before);
    if (item !== null) yield item;
  }
}
