import { isJsonObject, isTooDeep, type JsonObject, StemmaError } from "@stemma/model";
import { type Item, type Position, TOO_DEEP } from "./stemma/session-file.js";
import { byteLength, findNoUtf8 } from "./utf8.js";

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

/** Cuts the elements out of lists, and the objects out of a text without a list, by counting brackets outside of strings. */
class ValueReader {
  readonly #pieces: Pieces;
  /** Line on which the current value started; 0 between values. */
  #started = 0;
  #line = 1;
  /** Bytes of the present line up to where a value last started, and of those before the current value. */
  #bytes = 0;
  #before = 0;
  #depth = 0;
  #inList = false;
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

/** A value of a file as it was read, its place, and how many characters it has there. */
interface ReadLine<Line> {
  readonly line: Line;
  readonly at: Position;
  readonly length: number;
}

/** The values of a file as `parse` reads them. Where it gives a text, that says why the value is left out: `skip` is told. */
export async function* readLines<Line extends object>(
  items: AsyncIterable<Item>,
  parse: (value: unknown) => Line | string,
  skip: (at: Position, why: string) => void,
): AsyncGenerator<ReadLine<Line>> {
  for await (const item of items) {
    if (item.kind === "listEnd") continue;
    const { at } = item;
    const line = item.kind === "problem" ? item.why : parse(item.value);
    if (typeof line === "string") skip(at, line);
    else yield { line, at, length: item.kind === "problem" ? 0 : item.length };
  }
}

export function parseEntry(value: unknown): JsonObject | string {
  if (!isJsonObject(value) || typeof value.type !== "string") return "not an entry: it has no type";
  return isTooDeep(value) ? TOO_DEEP : value;
}

/** Bytes that any archive may unpack to. */
const ALWAYS = 64 * 1024 * 1024;
/** Conversations shrink to a tenth, as a rule: an archive that unpacks to this many times its size was made to. */
const MOST = 200;

export function archiveError(why: string, cause?: unknown): StemmaError {
  return new StemmaError("ARCHIVE_REFUSED", {}, `The archive cannot be read: ${why}.`, { cause });
}

/** Throws `ARCHIVE_REFUSED` where so many bytes become so many that they were made to fill the memory or the disk. */
export function assertNoBomb(packed: number, unpacked: number): void {
  if (unpacked <= ALWAYS || unpacked <= MOST * packed) return;
  throw archiveError(`it unpacks to more than ${MOST} times its size`);
}

/** How many times as long as it may be a text is, where it has no end. */
const ENDLESS = 10;

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
