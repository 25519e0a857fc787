import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import zlib from "node:zlib";
import { check, defineOptions, StemmaError, yieldIfDue } from "@stemma/model";
import { bytesOfFile } from "@stemma/model/files";
import { sessionsOfItems } from "./formats.js";
import { archiveError, assertNoBomb, readItems } from "./json-items.js";
import { isZip, readZip } from "./source/zip.js";
import type { Item, ParsedSession } from "./stemma/session-file.js";
import { decodeUtf8 } from "./utf8.js";
/** How a file is read. */
export interface ReadSessionsOptions {
  /** The file's name: sessions that say none of their own are named after it. Default: "stdin". */
  name?: string | undefined;
  /** The name of one of `IMPORT_FORMATS`. Default: found by the first value. */
  format?: string | undefined;
  /** The file is still written: what stands behind its last line break is not read yet. */
  growing?: boolean | undefined;
  /** Called with the bytes that were read so far, unpacked. */
  onRead?: ((bytes: number) => void) | undefined;
}

/** How a file that is named is read. */
export interface ReadFileOptions extends ReadSessionsOptions {
  /** Ends the reading: it fails with the signal's reason, once what was read is given. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads the sessions of a file while its bytes come in, Zstandard among them; a zip file needs `readSessionFile`. A long
 * session comes in several pieces with the same id: pass each to `importSession` as it comes. A file that breaks off, or is
 * damaged further down, gives what stands before that, and then fails.
 * Errors: `UNKNOWN_FORMAT`, `FILE_REFUSED`, `ARCHIVE_REFUSED`, and whatever `bytes` fails with.
 */
export async function* readSessions(
  bytes: AsyncIterable<Uint8Array>,
  { name = "stdin", format, growing = false, onRead }: ReadSessionsOptions = {},
): AsyncGenerator<ParsedSession> {
  let failure: { error: unknown } | null = null;
  let isEmpty = true;
  let read = 0;
  const count = (chunk: Uint8Array): void => {
    read += chunk.length;
    onRead?.(read);
  };
  async function* whatCanBeRead(): AsyncGenerator<string> {
    try {
      const text = decodeUtf8(unpack(bytes, count));
      for await (const piece of growing ? wholeLines(text) : text) {
        await yieldIfDue();
        isEmpty &&= piece.trim() === "";
        yield piece;
      }
    } catch (error) {
      failure = { error };
    }
  }
  const limits = new ReadLimits();
  async function* withinLimits(): AsyncGenerator<Item> {
    try {
      for await (const item of readItems(whatCanBeRead())) {
        limits.count(item);
        await yieldIfDue();
        yield item;
      }
    } catch (error) {
      failure ??= { error };
    }
  }
  try {
    for await (const session of sessionsOfItems(withinLimits(), { stem: stemOf(name) }, format)) {
      limits.taken();
      yield session;
    }
  } catch (error) {
    // What is still written may begin with the next line.
    if (growing && isEmpty && failure === null) return;
    // A file of which nothing could be read is not of an unknown format.
    throw failure === null ? error : (failure as { error: unknown }).error;
  }
  if (failure !== null) throw (failure as { error: unknown }).error;
}

const READ_FILE = defineOptions<ReadFileOptions>({
  name: check.text,
  format: check.text,
  growing: check.flag,
  onRead: check.callable,
  signal: check.signal,
});

/**
 * Reads the sessions of a file: JSON, JSONL, either with Zstandard, or a zip file with `conversations.json` as ChatGPT and
 * Claude export it. Otherwise as `readSessions`. Errors: also those of opening the file.
 */
export async function* readSessionFile(path: string, options: ReadFileOptions = {}): AsyncGenerator<ParsedSession> {
  READ_FILE.assert(options, "readSessionFile()");
  const { name = basename(path) } = options;
  // What is read of a pipe is gone from it.
  if (!(await stat(path)).isFile() || !isZip(await readStart(path))) {
    yield* readSessions(bytesOfFile(path, options.signal), { ...options, name });
    return;
  }
  for await (const { bytes } of readZip(path)) yield* readSessions(bytes, { ...options, name });
}

async function readStart(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* unpack(
  bytes: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const [start, all] = await peek(bytes);
  if (isZip(start)) throw archiveError("a zip file cannot be read from a stream; name the file");
  for await (const chunk of isZstd(start) ? unpackZstd(all) : all) {
    onChunk(chunk);
    yield chunk;
  }
}

async function* wholeLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest: string[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf("\n") + 1;
    if (end > 0) {
      yield rest.join("") + chunk.slice(0, end);
      rest = [];
    }
    rest.push(chunk.slice(end));
  }
}

async function peek(bytes: AsyncIterable<Uint8Array>): Promise<[Uint8Array, AsyncIterable<Uint8Array>]> {
  const iterator = bytes[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  for (let length = 0; length < 4; ) {
    const next = await iterator.next();
    if (next.done) break;
    chunks.push(next.value.slice());
    length += next.value.length;
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      // Closes the file, also where nobody read beyond its first bytes.
      await iterator.return?.();
    }
  }
  return [Buffer.concat(chunks).subarray(0, 4), all()];
}

// A compressed file's name has two endings.
function stemOf(name: string): string {
  return name.replace(/\.(zst|zip)$/i, "").replace(/(.)\.[^.]*$/, "$1");
}

/** Characters that the values of one session may have, or of one piece of it, until a reader has given it: they are held. */
const MOST_HELD = 200_000_000;
/** A value takes this many characters beside its text. */
const PER_VALUE = 1000;
/** Values that cannot be read, where they are more than the others: what is told of them is held. */
const MOST_PROBLEMS = 10_000;

/** Bounds what is held of a file that has no end, or is no conversation. */
export class ReadLimits {
  #held = 0;
  #values = 0;
  #problems = 0;

  constructor(
    private readonly mostHeld = MOST_HELD,
    private readonly mostProblems = MOST_PROBLEMS,
  ) {}

  count(item: Item): void {
    if (item.kind === "value") {
      this.#values += 1;
      this.#held += item.length + PER_VALUE;
      if (this.#held <= this.mostHeld) return;
      const message = `A session has more than ${this.mostHeld} characters (each value counts ${PER_VALUE} more) up to line ${item.at.line}, and no end. Split the file. What was read of it is given.`;
      throw new StemmaError("FILE_REFUSED", { line: item.at.line }, message);
    }
    if (item.kind === "listEnd") return;
    this.#problems += 1;
    if (this.#problems <= Math.max(this.mostProblems, this.#values)) return;
    const { at, why } = item;
    const message = `${this.#problems} values cannot be read, more than can; line ${at.line} is ${why}. What was read before is given.`;
    throw new StemmaError("FILE_REFUSED", { line: at.line }, message);
  }

  taken(): void {
    this.#held = 0;
  }
}

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** Bytes that are unpacked at once. */
const STEP = 16 * 1024;

function isZstd(start: Uint8Array): boolean {
  return MAGIC.every((byte, index) => start[index] === byte);
}

/** Unpacks while it reads. Errors: `ARCHIVE_REFUSED` for data that is damaged, cut, or made to fill the memory. */
async function* unpackZstd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let packed = 0;
  let unpacked = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      packed += chunk.length;
      // The decoder keeps what it cannot read yet; whoever gives the chunk may write over it.
      yield chunk.slice();
    }
  }
  try {
    for await (const chunk of hasZstd(zlib)
      ? unpackNatively(zlib, counted())
      : unpackInScript(counted(), () => packed)) {
      unpacked += chunk.length;
      assertNoBomb(packed, unpacked);
      yield chunk;
    }
  } catch (cause) {
    if (StemmaError.isInstance(cause) || !(cause instanceof Error) || isSystemError(cause)) throw cause;
    throw archiveError(`its Zstandard data is damaged or cut (${cause.message})`, cause);
  }
}

/** Node has it from 22.15 on. */
interface WithZstd {
  createZstdDecompress(): NodeJS.ReadWriteStream & AsyncIterable<Uint8Array> & { destroy(error?: Error): void };
}

function hasZstd(module: object): module is WithZstd {
  return "createZstdDecompress" in module && typeof module.createZstdDecompress === "function";
}

async function* unpackNatively(module: WithZstd, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Readable } = await import("node:stream");
  const decoder = module.createZstdDecompress();
  const source = Readable.from(bytes);
  source.on("error", (error) => decoder.destroy(error));
  yield* source.pipe(decoder);
}

async function* unpackInScript(bytes: AsyncIterable<Uint8Array>, packed: () => number): AsyncGenerator<Uint8Array> {
  const { Decompress } = await import("fzstd");
  let ready: Uint8Array[] = [];
  let unpacked = 0;
  const decoder = new Decompress((chunk) => {
    unpacked += chunk.length;
    // One step can make gigabytes of a bomb.
    assertNoBomb(packed(), unpacked);
    ready.push(chunk);
  });
  const push = (chunk: Uint8Array, isLast: boolean): Uint8Array[] => {
    ready = [];
    decoder.push(chunk, isLast);
    return ready;
  };
  for await (const chunk of bytes) {
    for (let start = 0; start < chunk.length; start += STEP) yield* push(chunk.subarray(start, start + STEP), false);
  }
  yield* push(new Uint8Array(0), true);
}

function isSystemError(error: Error): boolean {
  return "syscall" in error;
}
