import { perObject, StemmaError } from "@stemma/model";
import type { RecordScope, RecordWrite, StoredRecord, WriteRecordOptions } from "@stemma/store";
import type { TurnRecords, TurnStore } from "./log.js";

/** Records of a session whose provider has no place for them: they end with the process. */
export class MemoryRecords implements TurnRecords, TurnStore {
  readonly records = this;
  readonly #records = new Map<string, StoredRecord>();
  #writes = 0;

  async get(_scope: RecordScope, key: string): Promise<StoredRecord | null> {
    return this.#present(key);
  }

  async set(
    _scope: RecordScope,
    key: string,
    value: Uint8Array,
    options: WriteRecordOptions = {},
  ): Promise<StoredRecord> {
    const version = this.#present(key)?.version ?? 0;
    if (options.expectedVersion !== undefined && options.expectedVersion !== version) {
      throw new StemmaError("RECORD_CONFLICT", { key, version }, `Record "${key}" is at version ${version}.`);
    }
    this.#writes += 1;
    const record = { key, value, version: this.#writes, expiresAt: options.expiresAt ?? null };
    for (const old of this.#records.values()) if (isOver(old)) this.#records.delete(old.key);
    this.#records.set(key, record);
    return record;
  }

  async writeTogether(writes: readonly RecordWrite[]): Promise<void> {
    for (const { records, key, value, options } of writes) {
      if (value === null) await this.delete(records, key);
      else await this.set(records, key, value, options);
    }
  }

  async delete(_scope: RecordScope, key: string): Promise<boolean> {
    return this.#records.delete(key);
  }

  async list(_scope: RecordScope, { prefix = "" }: { prefix?: string | undefined } = {}): Promise<StoredRecord[]> {
    return [...this.#records.values()].filter((record) => record.key.startsWith(prefix) && !isOver(record));
  }

  async expire(scope: RecordScope, prefix: string, after: number): Promise<void> {
    const expiresAt = Date.now() + after;
    for (const record of await this.list(scope, { prefix })) this.#records.set(record.key, { ...record, expiresAt });
  }

  #present(key: string): StoredRecord | null {
    const record = this.#records.get(key);
    return record === undefined || isOver(record) ? null : record;
  }

  clear(): void {
    this.#records.clear();
  }
}

function isOver({ expiresAt }: StoredRecord): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

/** The records of a provider: the same for every session object on it. */
export const memoryRecordsOf = perObject((_provider: object) => new MemoryRecords());
