import { StemmaError } from "../../errors.js";
import { type RecordScope, type RecordStore, TURNS } from "../../storage/contract.js";
import type { TurnNote } from "./notes.js";

/** When a request was last sent, and what its prefix was made of. */
export interface TurnState {
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** The digest of the prompt that was sent. */
  readonly prompt: string;
  /** The id of the newest summary that was sent; null without one. */
  readonly summaryId: string | null;
  /** The message that was to be answered; null without one. */
  readonly messageId: string | null;
}

/** What a log needs of a store's records. */
export type TurnRecords = Pick<RecordStore, "get" | "set" | "delete" | "list">;

const STATE = "state";
const NOTE = "note/";
const ALL = Number.MAX_SAFE_INTEGER;

/** Keeps what a session's turns need to know of each other, in the session's records. */
export class TurnLog {
  readonly #scope: RecordScope;

  constructor(
    private readonly records: TurnRecords,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: TURNS };
  }

  async state(): Promise<TurnState | null> {
    const record = await this.records.get(this.#scope, STATE);
    return record === null ? null : (decode(record.value) as TurnState);
  }

  async keepState(state: TurnState): Promise<void> {
    await this.records.set(this.#scope, STATE, encode(state));
  }

  /** The notes that add to a prompt, by message; those of other prompts are removed. */
  async notes(prompt: string): Promise<Map<string, TurnNote>> {
    const notes = new Map<string, TurnNote>();
    for (const { key, value } of await this.records.list(this.#scope, { prefix: NOTE, limit: ALL })) {
      const note = decode(value) as TurnNote;
      if (note.prompt === prompt) notes.set(note.messageId, note);
      else await this.records.delete(this.#scope, key);
    }
    return notes;
  }

  /** Keeps a note, unless another process was faster: then it is that one's. */
  async add(note: TurnNote): Promise<TurnNote> {
    const key = NOTE + note.messageId;
    try {
      await this.records.set(this.#scope, key, encode(note), { expectedVersion: 0 });
      return note;
    } catch (error) {
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
      const record = await this.records.get(this.#scope, key);
      return record === null ? note : (decode(record.value) as TurnNote);
    }
  }
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode(value: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(value));
}
