import type { UIMessageChunk } from "ai";
import { StemmaError } from "../../errors.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import type { RecordScope, RecordStore } from "../../storage/contract.js";

/** Of `running` and `stopping` a process says that it is at work; the others are the ends of a run. */
export type RunStatus = "running" | "stopping" | "completed" | "stopped" | "failed" | "interrupted";

/** The latest run of a session, as all processes see it. */
export interface RunState {
  readonly runId: string;
  readonly status: RunStatus;
  /** Who is at work on it: another one after it was taken over. */
  readonly owner: string;
  /** Milliseconds since 1970 until which the owner says that it lives. */
  readonly leaseUntil: number;
  /** How long the owner counts as alive after it last said so, in milliseconds. */
  readonly lease: number;
  /** The message that is answered: the parent of the answer. Null for an answer without one. */
  readonly questionId: string | null;
  /** The message that holds the answer. */
  readonly answerId: string;
  /** The leaf that becomes the active one again if nothing is answered; null where the question stays that. */
  readonly leafBefore: string | null;
}

export interface KnownRun {
  readonly state: RunState;
  readonly version: number;
}

/** Chunks that came one after the other. */
export interface ChunkBatch {
  readonly key: string;
  readonly chunks: readonly UIMessageChunk[];
}

type Records = Pick<RecordStore, "get" | "set" | "delete" | "list">;

const RUN = "run";
const LABEL = "chat";
/** How long the chunks of an answer can be read again, in milliseconds. */
const CHUNKS_KEPT = 3_600_000;
const PAGE = 100;

/** What a session's runs leave for other processes, in the session's records: the latest run, and the chunks of its answer. */
export class RunLog {
  readonly #scope: RecordScope;

  constructor(
    private readonly records: Records,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: LABEL };
  }

  async read(): Promise<KnownRun | null> {
    const record = await this.records.get(this.#scope, RUN);
    return record === null ? null : { state: decodeJson(record.value) as RunState, version: record.version };
  }

  /** Writes over the version that the caller knows, 0 for none. Null when another process was faster. */
  async write(state: RunState, expectedVersion: number): Promise<KnownRun | null> {
    try {
      const { version } = await this.records.set(this.#scope, RUN, encodeJson(state), { expectedVersion });
      return { state, version };
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return null;
      throw error;
    }
  }

  async addChunks(runId: string, number: number, chunks: readonly UIMessageChunk[]): Promise<void> {
    const key = `${prefixOf(runId)}${String(number).padStart(8, "0")}`;
    await this.records.set(this.#scope, key, encodeJson(chunks), { expiresAt: Date.now() + CHUNKS_KEPT });
  }

  /** The batches of a run behind the one with the key `after`: a page of them. */
  async chunks(runId: string, after?: string): Promise<ChunkBatch[]> {
    const records = await this.records.list(this.#scope, { prefix: prefixOf(runId), after, limit: PAGE });
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
      for (const { key } of batches) await this.records.delete(this.#scope, key);
      if (batches.length < PAGE) return;
    }
  }
}

/** True for a run that some process may still be at work on. */
export function isUnderWay({ status }: RunState): boolean {
  return status === "running" || status === "stopping";
}

/** True for a run whose process died. */
export function isDead(state: RunState): boolean {
  return isUnderWay(state) && state.leaseUntil < Date.now();
}

function prefixOf(runId: string): string {
  return `chunks/${runId}/`;
}
