/** Names a collection of records. */
export interface RecordScope {
  /** Whose they are: they go when the session is deleted. "" for those of no session. */
  readonly sessionId: string;
  /** What they are for, as "runs" or "checkpoints". */
  readonly label: string;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** A whole number above 0 that says nothing but this: no other version of the key has it. */
  readonly version: number;
  /** Milliseconds since 1970 at which it goes; null for never. */
  readonly expiresAt: number | null;
}

export interface WriteRecordOptions {
  /** Writes only over this version; 0 means "must not exist". Default: over whatever is there. */
  expectedVersion?: number | undefined;
  /** Milliseconds since 1970. Default: never. */
  expiresAt?: number | undefined;
  /** The version that the record gets, for a copy of one from elsewhere. Default: a new one. */
  version?: number | undefined;
}

export interface ListRecordsOptions {
  /** Only keys that begin with this. */
  prefix?: string | undefined;
  /** Only keys behind this one, in the order of the list. */
  after?: string | undefined;
  /** Default 100. */
  limit?: number | undefined;
}

/**
 * Bytes by scope and key, for what runs beside the messages: answers in progress, leases, checkpoints of other programs. A
 * record whose time has come is no longer there, whenever its row goes. Keys are in the order of their UTF-8 bytes.
 */
export interface RecordStore {
  get(scope: RecordScope, key: string): Promise<StoredRecord | null>;
  /** Errors: `RECORD_CONFLICT` when `expectedVersion` is not the present one. */
  set(scope: RecordScope, key: string, value: Uint8Array, options?: WriteRecordOptions): Promise<StoredRecord>;
  /** Resolves to whether it was there. Errors: `RECORD_CONFLICT`. */
  delete(scope: RecordScope, key: string, options?: { expectedVersion?: number | undefined }): Promise<boolean>;
  list(scope: RecordScope, options?: ListRecordsOptions): Promise<StoredRecord[]>;
  /** The labels under which a session has records, in the order of their UTF-8 bytes. */
  labels(sessionId: string): Promise<string[]>;
}

/** The label of how far a session was learned from. A fork has a copy of it. */
export const LEARNING = "learning";

/** The label of what a session's turns know of each other. It goes when the messages are cleared. */
export const TURNS = "turns";
