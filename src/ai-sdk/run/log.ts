import type { UIMessageChunk } from "ai";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import { RunRecord } from "../../session/run-record.js";
import type { RecordWrite } from "../../storage/contract.js";

/** Chunks that came one after the other. */
export interface ChunkBatch {
  readonly key: string;
  readonly chunks: readonly UIMessageChunk[];
}

/** How long the chunks of an answer can be read after its end, in milliseconds. */
const CHUNKS_KEPT = 3_600_000;
const PAGE = 100;

/** What a session's runs leave for other processes, in the session's records: the latest run, and the chunks of its answer. */
export class RunLog extends RunRecord {
  /** The write of a batch of chunks. */
  chunkWrite(runId: string, number: number, chunks: readonly UIMessageChunk[]): RecordWrite {
    const key = `${prefixOf(runId)}${String(number).padStart(8, "0")}`;
    return { records: this.scope, key, value: encodeJson(chunks) };
  }

  /** The batches of a run behind the one with the key `after`: a page of them. */
  async chunks(runId: string, after?: string): Promise<ChunkBatch[]> {
    const records = await this.records.list(this.scope, { prefix: prefixOf(runId), after, limit: PAGE });
    return records.map(({ key, value }) => ({ key, chunks: decodeJson(value) as UIMessageChunk[] }));
  }

  /** Whether there may be more batches behind these. */
  isPage(batches: readonly ChunkBatch[]): boolean {
    return batches.length === PAGE;
  }

  /** All chunks of a run. */
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
    await this.records.expire?.(this.scope, prefixOf(runId), CHUNKS_KEPT);
  }

  async forgetChunks(runId: string): Promise<void> {
    for (;;) {
      const batches = await this.chunks(runId);
      for (const { key } of batches) await this.records.delete(this.scope, key);
      if (!this.isPage(batches)) return;
    }
  }
}

function prefixOf(runId: string): string {
  return `chunks/${runId}/`;
}
