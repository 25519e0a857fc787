import type { UIMessageChunk } from "ai";
import { StemmaError } from "../../errors.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import { RunRecord } from "../../session/run-record.js";
import type { TurnRecords } from "../../session/turn/log.js";
import type { Store } from "../../storage/contract.js";

/** Chunks that came one after the other. */
export interface ChunkBatch {
  readonly key: string;
  readonly chunks: readonly UIMessageChunk[];
}

/** How long the chunks of an answer can be read again, in milliseconds. */
const CHUNKS_KEPT = 3_600_000;
const PAGE = 100;

/** What a session's runs leave for other processes, in the session's records: the latest run, and the chunks of its answer. */
export class RunLog extends RunRecord {
  /** `store` is null where records cannot be written together. */
  constructor(
    records: TurnRecords,
    sessionId: string,
    private readonly store: Pick<Store, "writeTogether"> | null,
  ) {
    super(records, sessionId);
  }

  /** False where the run is not as it was in this version of its record: it may have been deleted, with its session. */
  async addChunks(
    runId: string,
    number: number,
    chunks: readonly UIMessageChunk[],
    atVersion: number,
  ): Promise<boolean> {
    const key = `${prefixOf(runId)}${String(number).padStart(8, "0")}`;
    const value = encodeJson(chunks);
    const options = { expiresAt: Date.now() + CHUNKS_KEPT };
    try {
      if (this.store === null) await this.records.set(this.scope, key, value, options);
      else await this.store.writeTogether([this.asOf(atVersion), { records: this.scope, key, value, options }]);
      return true;
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
      throw error;
    }
  }

  /** The batches of a run behind the one with the key `after`: a page of them. */
  async chunks(runId: string, after?: string): Promise<ChunkBatch[]> {
    const records = await this.records.list(this.scope, { prefix: prefixOf(runId), after, limit: PAGE });
    return records.map(({ key, value }) => ({ key, chunks: decodeJson(value) as UIMessageChunk[] }));
  }

  /** All chunks of a run. */
  async allChunks(runId: string): Promise<UIMessageChunk[]> {
    const all: UIMessageChunk[] = [];
    for (let after: string | undefined; ; ) {
      const batches = await this.chunks(runId, after);
      for (const { chunks } of batches) all.push(...chunks);
      if (batches.length < PAGE) return all;
      after = batches.at(-1)?.key;
    }
  }

  async forgetChunks(runId: string): Promise<void> {
    for (;;) {
      const batches = await this.chunks(runId);
      for (const { key } of batches) await this.records.delete(this.scope, key);
      if (batches.length < PAGE) return;
    }
  }
}

function prefixOf(runId: string): string {
  return `chunks/${runId}/`;
}
