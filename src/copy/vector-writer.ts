import type { JsonObject } from "../model/json-object.js";
import type { ImportedVector, KeptVector, VectorModel, VectorStore } from "../storage/contract.js";
import { modelOf, readVectorLine, vectorHeader, vectorLine } from "./vector-lines.js";

/** Vectors, and bytes of them, that are written together. */
const MOST_VECTORS = 256;
const MOST_BYTES = 2_000_000;

/** Writes the vectors of one session, and reads what is there of them. */
export class VectorWriter {
  readonly #model: VectorModel;
  #vectors: KeptVector[] = [];
  #isWritten = false;
  /** What the target has made itself while the source waits for it. */
  readonly #own = new Set<string>();
  #last: string | null = null;

  constructor(
    private readonly store: VectorStore,
    readonly sessionId: string,
    header: JsonObject,
  ) {
    this.#model = modelOf(header);
  }

  /** Resolves to whether anything was missing. Errors: `COPY_CONFLICT`, `UNKNOWN_FORMAT`, and those of the writes. */
  async write(lines: AsyncIterable<JsonObject>): Promise<boolean> {
    const { dimensions } = this.#model;
    const most = Math.min(MOST_VECTORS, Math.ceil(MOST_BYTES / (4 * dimensions)));
    for await (const line of lines) {
      this.#vectors.push(readVectorLine(line, dimensions));
      if (this.#vectors.length >= most) await this.#flush();
    }
    await this.#flush();
    return this.#isWritten;
  }

  /** The lines of what was written, as they are there now. */
  async *read(): AsyncGenerator<JsonObject> {
    yield vectorHeader(this.sessionId, this.#model);
    // Behind the last that is copied, what the target has is its own.
    if (this.#last === null) return;
    for await (const vector of this.store.list(this.sessionId, this.#model)) {
      if (!this.#own.has(vector.messageId)) yield vectorLine(vector);
      if (vector.messageId === this.#last) return;
    }
  }

  async #flush(): Promise<void> {
    if (this.#vectors.length === 0) return;
    const states = await this.store.import(this.sessionId, this.#model, this.#vectors);
    for (const [index, { messageId }] of this.#vectors.entries()) this.#note(messageId, states[index]);
    this.#vectors = [];
  }

  #note(messageId: string, state: ImportedVector | undefined): void {
    if (state === "written") this.#isWritten = true;
    if (state === "own") this.#own.add(messageId);
    this.#last = messageId;
  }
}
