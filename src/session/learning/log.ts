import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import { type KeptWrite, LEARNING, type RecordScope, type Store } from "../../storage/contract.js";
import { type Lease, takeLease } from "../lease.js";
import type { Waiters } from "../time-limit.js";

/** How far a session was learned from. */
export interface LearnState {
  /** The ids of the newest messages that were looked at, the latest first. */
  readonly learned: readonly string[];
  /** How often in a row the learn function failed with what comes next. */
  readonly failures: number;
}

const STATE = "state";

/** As many ids as a program may well delete or leave behind at once. */
const MOST_IDS = 64;

/** Keeps how far a session was learned from, in its records, and lets one process at a time learn. */
export class LearnLog {
  readonly #scope: RecordScope;

  constructor(
    private readonly store: Store,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: LEARNING };
  }

  /** The state, and the version of it that `next` writes over. */
  async state(): Promise<{ state: LearnState; version: number }> {
    const record = await this.store.records.get(this.#scope, STATE);
    if (record === null) return { state: { learned: [], failures: 0 }, version: 0 };
    return { state: decodeJson(record.value) as LearnState, version: record.version };
  }

  /** The write of the state after messages were looked at, oldest first. */
  next({ learned, failures }: LearnState, messageIds: readonly string[], expectedVersion: number): KeptWrite {
    const ids = [...messageIds.toReversed(), ...learned].slice(0, MOST_IDS);
    return this.#write({ learned: ids, failures: messageIds.length === 0 ? failures : 0 }, expectedVersion);
  }

  /** The write of the state after the learn function failed. */
  failed({ learned, failures }: LearnState, expectedVersion: number): KeptWrite {
    return this.#write({ learned, failures: failures + 1 }, expectedVersion);
  }

  /** The right to learn; null while another process has it. */
  lease(waiters: Waiters): Promise<Lease | null> {
    return takeLease(this.store, this.#scope, waiters);
  }

  #write(state: LearnState, expectedVersion: number): KeptWrite {
    return { records: this.#scope, key: STATE, value: encodeJson(state), options: { expectedVersion } };
  }
}
