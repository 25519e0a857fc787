import { Pieces } from "./item-text.js";
import type { Item } from "./session-file.js";
import { ValueReader } from "./value-reader.js";

/** Characters that a value may have: a text that is longer cannot be held with what is read of it. */
const MAX_LENGTH = 200_000_000;
const LONG_LINE = 65_536;

/**
 * The values of a JSON or JSONL text, one at a time: the lines of JSONL, the elements of each top-level list, or one object
 * written over several lines. A value that is not UTF-8, is not JSON, or has more than `maxLength` characters, is a problem of its
 * own; what follows is still read. Of a field that stands in an object twice, the last counts. Errors: `FILE_REFUSED` for a
 * value that does not end after ten times as many characters.
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
    this.#pieces.assertEnds({ line: this.#line });
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
