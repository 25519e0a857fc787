import { fromBase64, isJsonObject, type JsonObject, reasonOf, StemmaError, toBase64 } from "@stemma/model";
import type { KeptVector, VectorModel } from "@stemma/store";
import { readItems } from "../json-items.js";
import type { Item } from "../stemma/session-file.js";
import { findOwner, isHeader } from "../stemma/stemma-jsonl.js";
import { END, VERSION } from "../stemma/store-lines.js";
import { decodeUtf8 } from "../utf8.js";
import type { CopySource, Part, PartOf } from "./contract.js";
/** The parts that lines of ours hold, one after the other. Errors: `UNKNOWN_FORMAT`. */
export async function* readParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Part> {
  const items = readItems(decodeUtf8(bytes))[Symbol.asyncIterator]();
  try {
    for (let header = await nextLine(items); header !== null; ) {
      if (!isHeader(header)) throw unknown("A line stands before the header of what it belongs to");
      const rest = new Rest(items);
      yield { of: ownerOf(header), header, lines: () => rest.lines() };
      header = await rest.nextHeader();
    }
  } finally {
    // Closes the file, also where nobody reads on.
    await items.return?.(undefined);
  }
}

/**
 * All that a store holds, as lines of text. `jsonl()` reads them. Errors: at the end `INVALID_ARGUMENT` where no call could name
 * some parts, of which there is no line.
 */
export async function* writeParts(source: CopySource): AsyncGenerator<string> {
  const refused: unknown[] = [];
  for await (const part of source.parts()) {
    const lines = part.lines()[Symbol.asyncIterator]();
    let first: IteratorResult<JsonObject>;
    try {
      first = await lines.next();
    } catch (error) {
      // For a name of an earlier version, or one that was written past us.
      if (!StemmaError.isInstance(error) || !["INVALID_ARGUMENT", "INVALID_TEXT"].includes(error.code)) throw error;
      refused.push(error);
      continue;
    }
    yield* writePart(part.header, goneOn(first, lines));
  }
  if (refused.length === 0) return;
  const [cause] = refused;
  const message = `All was exported but what no call can name (${refused.length}): ${reasonOf(cause)} Rename it in the database, or do without it.`;
  throw new StemmaError("INVALID_ARGUMENT", { refused: refused.map(reasonOf) }, message, { cause });
}

async function* goneOn<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    for (let step = first; !step.done; step = await rest.next()) yield step.value;
  } finally {
    await rest.return?.();
  }
}

export async function* writePart(header: JsonObject, lines: AsyncIterable<JsonObject>): AsyncGenerator<string> {
  yield textOf(header);
  for await (const line of lines) yield textOf(line);
  yield textOf(END);
}

const textOf = (line: JsonObject) => `${JSON.stringify(line)}\n`;

class Rest {
  #next: JsonObject | null = null;
  #isDone = false;

  constructor(private readonly items: AsyncIterator<Item>) {}

  async *lines(): AsyncGenerator<JsonObject> {
    let isEnded = false;
    while (!this.#isDone) {
      const line = await nextLine(this.items);
      if (line === null || isHeader(line)) {
        this.#next = line;
        this.#isDone = true;
      } else if (line.end === true) isEnded = true;
      else yield line;
    }
    if (!isEnded) throw unknown("The file ends before all of a session that it begins");
  }

  /** Reads what nobody has read of this part, and gives the header of the next; null behind the last. */
  async nextHeader(): Promise<JsonObject | null> {
    try {
      for await (const _line of this.lines());
    } catch (error) {
      if (!this.#isDone) throw error;
    }
    return this.#next;
  }
}

async function nextLine(items: AsyncIterator<Item>): Promise<JsonObject | null> {
  for (;;) {
    const step = await items.next();
    if (step.done === true) return null;
    if (step.value.kind === "listEnd") continue;
    const item = step.value;
    if (item.kind === "value" && isJsonObject(item.value)) return item.value;
    throw unknown(`Line ${item.at.line} is none of ours${item.kind === "problem" ? `: ${item.why}` : ""}`);
  }
}

function ownerOf({ stemma, memory, session, vectors }: JsonObject): PartOf {
  if (stemma !== 2) throw unknown("These lines are of another version");
  const owner = findOwner(memory);
  if (owner !== undefined) return owner;
  if (isJsonObject(vectors)) return { vectors: String(vectors.session) };
  return { session: String((session as JsonObject).id) };
}

function unknown(what: string): StemmaError {
  const message = `${what}: only what \`stemma copy\` or \`stemma export\` writes as jsonl can be copied. \`stemma import\` reads other files.`;
  return new StemmaError("UNKNOWN_FORMAT", {}, message);
}

/** A source for `copyStore` of the bytes that `exportStore` gives. Errors at the first use: `UNKNOWN_FORMAT`, and those of `bytes`. */
export function jsonl(bytes: AsyncIterable<Uint8Array>): CopySource {
  return { parts: () => readParts(bytes) };
}

export const vectorHeader = (session: string, { id, dimensions }: VectorModel): JsonObject => ({
  stemma: VERSION,
  vectors: { session, embedder: id, dimensions },
});

/** The model that it names. Errors: `UNKNOWN_FORMAT`. */
export function modelOf({ vectors }: JsonObject): VectorModel {
  const { embedder: id, dimensions } = isJsonObject(vectors) ? vectors : {};
  if (typeof id === "string" && id !== "" && Number.isSafeInteger(dimensions) && Number(dimensions) > 0)
    return { id, dimensions: Number(dimensions) };
  throw new StemmaError("UNKNOWN_FORMAT", {}, "The header of a session's vectors names no embedder.");
}

/** A message's vector as base64 of 32-bit floats, the lowest byte first; without `vector` where the message waits for it. */
export function vectorLine({ messageId, text, vector }: KeptVector): JsonObject {
  if (vector === undefined) return { messageId, text };
  const { buffer, byteOffset, byteLength } = vector ?? {};
  return { messageId, text, vector: buffer ? toBase64(new Uint8Array(buffer, byteOffset, byteLength)) : null };
}

/** True for the line of a message that waits for its vector. */
export const isWaitingLine = (line: JsonObject): boolean => "messageId" in line && !("vector" in line);

/** Errors: `UNKNOWN_FORMAT`. */
export function readVectorLine({ messageId, text, vector }: JsonObject, dimensions: number): KeptVector {
  const given = typeof vector === "string" ? numbersIn(vector) : vector;
  const isVector =
    given instanceof Float32Array ? given.length === dimensions && given.every(Number.isFinite) : given === null;
  if (typeof messageId !== "string" || typeof text !== "string" || !(isVector || given === undefined)) throw noVector();
  return { messageId, text, vector: given as Float32Array | null | undefined };
}

function numbersIn(base64: string): Float32Array {
  try {
    return new Float32Array(fromBase64(base64).buffer);
  } catch {
    throw noVector();
  }
}

const noVector = () => new StemmaError("UNKNOWN_FORMAT", {}, "A line is not the vector of a message.");
