import { decodeJson, encodeJson } from "@stemma/model";
import { type RecordScope, TURNS } from "@stemma/store";
import type { TurnRecords } from "../turn/log.js";

/** How large a session is: what a counter of the host's says may not grow with the history. */
export interface Size {
  /** What the trigger compares with the threshold. */
  readonly tokens: number;
  /** The visible messages, as estimated. */
  readonly messages: number;
}

/** How large the session was, and how many tokens have to come anew. */
interface Rest {
  readonly since: Size;
  readonly needed: number;
}

const KEY = "compaction";

/**
 * When the automatic trigger rests: after a compaction, until as much new text as it says has come, by the host's counter or
 * by the estimate. Kept in the session's records, because each request of a server may come with a session object of its own.
 */
export class CompactionPause {
  /** How many pauses began. */
  begun = 0;
  #rest: Rest | null = null;
  /** Of the record that was last read or written. */
  #version = 0;
  readonly #scope: RecordScope;

  constructor(
    private readonly records: TurnRecords,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: TURNS };
  }

  /** Notes how large the session is now: what was deleted since, or left for another branch, comes anew. */
  saw(now: Size): void {
    if (this.#rest === null) return;
    const { since, needed } = this.#rest;
    const least = { tokens: Math.min(since.tokens, now.tokens), messages: Math.min(since.messages, now.messages) };
    this.#rest = { since: least, needed };
  }

  /** Asks the records only where this object knows of no pause. Errors: those of the store. */
  async isOn(now: Size): Promise<boolean> {
    if (this.#rests(now)) return true;
    const { begun } = this;
    const record = await this.records.get(this.#scope, KEY);
    if (begun !== this.begun) return true;
    if (record === null || record.version === this.#version) return false;
    this.#version = record.version;
    this.#rest = decodeJson(record.value) as Rest;
    this.saw(now);
    return this.#rests(now);
  }

  /** Begins a pause until `needed` tokens have come anew. Errors: those of the store. */
  async begin(since: Size, needed: number): Promise<void> {
    this.begun += 1;
    this.#rest = { since, needed };
    this.#version = (await this.records.set(this.#scope, KEY, encodeJson(this.#rest))).version;
  }

  end(): void {
    this.#rest = null;
  }

  #rests({ tokens, messages }: Size): boolean {
    if (this.#rest === null) return false;
    const { since, needed } = this.#rest;
    return tokens - since.tokens < needed && messages - since.messages < needed;
  }
}
