import { type Deferred, decodeJson, defer, encodeJson, yieldIfDue } from "@stemma/model";
import { RunRecord, type RunState } from "@stemma/session";
import type { RecordWrite } from "@stemma/store";
import type { UIMessageChunk } from "ai";

interface ChunkBatch {
  readonly key: string;
  readonly chunks: readonly UIMessageChunk[];
}

/** How long the chunks of an answer can be read after its end, in milliseconds. */
const CHUNK_LIFETIME = 3_600_000;
const PAGE = 100;

/** The records in which a session leaves its runs to other processes: the latest run, and the chunks of its answer. */
export class RunLog extends RunRecord {
  chunkWrite(runId: string, number: number, chunks: readonly UIMessageChunk[]): RecordWrite {
    const key = `${prefixOf(runId)}${String(number).padStart(8, "0")}`;
    return { records: this.scope, key, value: encodeJson(chunks) };
  }

  /** The batches of a run behind the one with the key `after`: a page of them. */
  async chunks(runId: string, after?: string): Promise<ChunkBatch[]> {
    const records = await this.records.list(this.scope, { prefix: prefixOf(runId), after, limit: PAGE });
    return records.map(({ key, value }) => ({ key, chunks: decodeJson(value) as UIMessageChunk[] }));
  }

  isPage(batches: readonly ChunkBatch[]): boolean {
    return batches.length === PAGE;
  }

  async allChunks(runId: string): Promise<UIMessageChunk[]> {
    const all: UIMessageChunk[] = [];
    for (let after: string | undefined; ; ) {
      const batches = await this.chunks(runId, after);
      for (const { chunks } of batches) all.push(...chunks);
      if (!this.isPage(batches)) return all;
      after = batches.at(-1)?.key;
    }
  }

  /** The run has ended: whoever still reads its answer has some time left. */
  async chunksEnd(runId: string): Promise<void> {
    await this.records.expire?.(this.scope, prefixOf(runId), CHUNK_LIFETIME);
  }

  async forgetChunks(runId: string): Promise<void> {
    for (;;) {
      const batches = await this.chunks(runId);
      await Promise.all(batches.map(({ key }) => this.records.delete(this.scope, key)));
      if (!this.isPage(batches)) return;
    }
  }
}

function prefixOf(runId: string): string {
  return `chunks/${runId}/`;
}

/**
 * Why a run was broken off: the user stopped it, another process took it over, or the chat was deleted. Nothing more may be
 * written for one that is lost or deleted.
 */
type BrokenOff = "stopped" | "lost" | "deleted";

interface SentChunk {
  readonly chunk: UIMessageChunk;
  /** It repeats what the client that continues an answer has already. */
  readonly isBase: boolean;
}

/** A run of this process. Whoever reads its answer reads it from the start, and nobody holds it up. */
export class LiveRun {
  state: RunState;
  readonly #chunks = new Feed<SentChunk>();
  readonly #abort = new AbortController();
  readonly #ended = defer();
  /** Null while it is not. */
  brokenOff: BrokenOff | null = null;
  isOver = false;

  constructor(state: RunState) {
    this.state = state;
  }

  get id(): string {
    return this.state.runId;
  }

  /** Nothing more may be written for it. */
  get isLost(): boolean {
    return this.brokenOff === "lost" || this.brokenOff === "deleted";
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settled once the answer is stored and the run has let go of the session. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  breakOff(reason: BrokenOff): void {
    // One that was stopped may be lost before it has ended.
    if (!this.isLost) this.brokenOff = reason;
    this.#abort.abort();
  }

  push(chunk: UIMessageChunk, isBase = false): void {
    this.#chunks.push([{ chunk, isBase }]);
  }

  end(): void {
    this.isOver = true;
    this.#chunks.close();
    this.#ended.resolve();
  }

  /** All chunks, those to come included; without those that a client `holds` that continues an answer. */
  stream(holds = false): ReadableStream<UIMessageChunk> {
    return this.#chunks.stream(({ chunk, isBase }) => (holds && isBase ? null : chunk));
  }
}

/** A list that grows bit by bit. Whoever reads it reads it from the start, and nobody holds it up. */
export class Feed<Item> {
  readonly #items: Item[] = [];
  #more: Deferred = defer();
  #end: { readonly error?: unknown } | null = null;

  push(items: readonly Item[]): void {
    for (const item of items) this.#items.push(item);
    this.#wake();
  }

  close(): void {
    this.#end ??= {};
    this.#wake();
  }

  /** Whoever reads it fails with this error, once it has what came before. */
  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** All that came and will come, without what `select` gives null for. `left` is called when the reader goes before the end. */
  stream<Given>(select: (item: Item) => Given | null, left?: () => void): ReadableStream<Given> {
    let next = 0;
    return new ReadableStream({
      pull: async (controller) => {
        // Many readers get each piece, one after the other.
        await yieldIfDue();
        for (;;) {
          if (next < this.#items.length) {
            const given = select(this.#items[next] as Item);
            next += 1;
            if (given !== null) return controller.enqueue(given);
          } else if (this.#end === null) await this.#more.promise;
          else if ("error" in this.#end) throw this.#end.error;
          else return controller.close();
        }
      },
      cancel: () => left?.(),
    });
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = defer();
  }
}
