import { StemmaError } from "../errors.js";
import type { Item, Position } from "./session-file.js";

/** Characters that a value may have: a text that is longer cannot be held with what is read of it. */
const MAX_LENGTH = 200_000_000;
const LONG_LINE = 65_536;

/**
 * The values of a JSON or JSONL text, one at a time: the lines of JSONL, the elements of each top-level list, or one object
 * written over several lines. A value that is not JSON, or has more than `maxLength` characters, is a problem of its own;
 * what follows is still read. Of a field that stands in an object twice, the last counts.
 */
export async function* readItems(chunks: AsyncIterable<string>, maxLength = MAX_LENGTH): AsyncGenerator<Item> {
  let start = "";
  let reader: LineReader | ValueReader | null = null;
  for await (const chunk of chunks) {
    if (reader !== null) {
      yield* reader.feed(chunk);
      continue;
    }
    start += chunk;
    reader = createReader(start, maxLength, false);
    if (reader !== null) yield* reader.feed(start);
  }
  if (reader === null) {
    reader = createReader(start, maxLength, true);
    if (reader === null) return;
    yield* reader.feed(start);
  }
  yield* reader.finish();
}

/** Text of a byte stream in UTF-8; a character that is cut at the end is U+FFFD. Errors: `UNKNOWN_FORMAT` when it is something else. */
export async function* decodeUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new StemmaError("UNKNOWN_FORMAT", {}, "The file is not text in UTF-8; convert it first.", { cause });
  }
  try {
    yield decoder.decode();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    yield "\ufffd";
  }
}

function createReader(start: string, maxLength: number, whole: boolean): LineReader | ValueReader | null {
  const text = start.trimStart();
  // Whoever writes an object over several lines begins it with a short one.
  const isLong = start.length > LONG_LINE;
  if (text === "") return isLong ? new LineReader(maxLength) : null;
  if (text.startsWith("[")) return new ValueReader(maxLength);
  const end = text.indexOf("\n");
  if (end === -1 && !whole) return isLong ? new LineReader(maxLength) : null;
  const first = (end === -1 ? text : text.slice(0, end)).trimEnd();
  // Only a value that goes on below ends its line so: anything else is a line of JSONL, even a broken one.
  return /[{[,]$/.test(first) ? new ValueReader(maxLength) : new LineReader(maxLength);
}

/** The pieces of a text, up to a number of characters: of a longer one nothing is held. */
class Pieces {
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

class LineReader {
  readonly #pieces: Pieces;
  #line = 1;

  constructor(maxLength: number) {
    this.#pieces = new Pieces(maxLength);
  }

  // Not node:readline: it also breaks lines at U+2028, which JSON allows inside a text.
  *feed(chunk: string): Generator<Item> {
    let start = 0;
    for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", start)) {
      this.#pieces.push(chunk.slice(start, end));
      start = end + 1;
      yield* this.#take();
    }
    this.#pieces.push(chunk.slice(start));
  }

  *finish(): Generator<Item> {
    yield* this.#take();
  }

  *#take(): Generator<Item> {
    const item = this.#pieces.take({ line: this.#line });
    if (item !== null) yield item;
    this.#line += 1;
  }
}

/** Cuts the elements out of lists, and the objects out of a text without a list, by counting brackets outside of strings. */
class ValueReader {
  readonly #pieces: Pieces;
  /** Line on which the current value started; 0 between values. */
  #started = 0;
  #line = 1;
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
    for (let index = 0; index < chunk.length; index += 1) {
      const char = chunk[index] as string;
      if (char === "\n") this.#line += 1;
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
        from = index;
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
        if (this.#depth === base) {
          yield* this.#take(chunk.slice(from, index + 1));
        }
      }
    }
    if (this.#started !== 0) this.#pieces.push(chunk.slice(from));
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
    const item = this.#pieces.take(at);
    if (item !== null) yield item;
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
