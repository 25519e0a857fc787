import { StemmaError } from "../../errors.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import { type RecordScope, type RecordStore, TURNS } from "../../storage/contract.js";
import type { TurnNote } from "./notes.js";
import type { TurnRecord, TurnState } from "./record.js";

/** What a log needs of a store's records. */
export type TurnRecords = Pick<RecordStore, "get" | "set" | "delete" | "list" | "expire" | "now">;

/** How long notes and records of turns are kept, in milliseconds: longer than any provider keeps a prefix. */
const KEPT_FOR = 30 * 24 * 60 * 60 * 1000;

const STATE = "last";
const ALL = Number.MAX_SAFE_INTEGER;
const noteKey = (prompt: string, messageId = "") => `note/${prompt}/${messageId}`;
const turnKey = (messageId: string | null) => `turn/${messageId ?? ""}`;

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
    return this.#read<TurnState>(STATE);
  }

  async keepState(state: TurnState): Promise<void> {
    await this.records.set(this.#scope, STATE, encodeJson(state));
  }

  /** What was sent for a message when it was last to be answered; null where nothing is known of it. */
  async turn(messageId: string): Promise<TurnRecord | null> {
    return this.#read<TurnRecord>(turnKey(messageId));
  }

  async keepTurn(turn: TurnRecord): Promise<void> {
    await this.records.set(this.#scope, turnKey(turn.messageId), encodeJson(turn), {
      expiresAt: Date.now() + KEPT_FOR,
    });
  }

  /** The notes that were told beside the prompt of this digest, by message. */
  async notes(prompt: string | undefined): Promise<Map<string, TurnNote>> {
    if (prompt === undefined) return new Map();
    const found = await this.records.list(this.#scope, { prefix: noteKey(prompt), limit: ALL });
    const notes = found.map(({ value }) => decodeJson(value) as TurnNote);
    return new Map(notes.map((note) => [note.messageId, note]));
  }

  /** Keeps a note, unless another process was faster: then it is that one's. */
  async add(prompt: string, note: TurnNote): Promise<TurnNote> {
    const key = noteKey(prompt, note.messageId);
    try {
      const { value } = await this.records.set(this.#scope, key, encodeJson(note), {
        expectedVersion: 0,
        expiresAt: Date.now() + KEPT_FOR,
      });
      // As it will be read the next time, which a store's redaction may have changed.
      return decodeJson(value) as TurnNote;
    } catch (error) {
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
      return (await this.#read<TurnNote>(key)) ?? note;
    }
  }

  async #read<T>(key: string): Promise<T | null> {
    const record = await this.records.get(this.#scope, key);
    return record === null ? null : (decodeJson(record.value) as T);
  }
}
