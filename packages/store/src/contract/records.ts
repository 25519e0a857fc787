/** Names a collection of records. */
export interface RecordScope {
  /** The session that they belong to: they are deleted with it. "" for records of no session. */
  readonly sessionId: string;
  /** Their purpose, such as "runs" or "checkpoints". */
  readonly label: string;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Uint8Array;
  /** A whole number above 0. No other version of the key has it; it has no other meaning. */
  readonly version: number;
  /** When it expires, in milliseconds since 1970 by the database's clock where it has one, else by the machine's; null for never. */
  readonly expiresAt: number | null;
}

export interface WriteRecordOptions {
  /** Writes only over this version; 0 means "must not exist". Default: over whatever is there. */
  expectedVersion?: number | undefined;
  /** As `StoredRecord.expiresAt`. Default: never. */
  expiresAt?: number | undefined;
  /** The version that the record gets, for a copy of one from elsewhere. Default: a new one. */
  version?: number | undefined;
}

export interface ListRecordsOptions {
  /** Only keys that begin with this. */
  prefix?: string | undefined;
  /** Only keys behind this one, in the order of the list. */
  after?: string | undefined;
  /** From the last key to the first. Default false. */
  descending?: boolean | undefined;
  /** Default 100. */
  limit?: number | undefined;
}

/**
 * Bytes by scope and key, for programs that run beside the messages: answers in progress, leases, checkpoints of other
 * programs. An expired record cannot be read, even before its row is removed. Keys are in the order of their UTF-8 bytes, or in the opposite one.
 */
export interface RecordStore {
  get(scope: RecordScope, key: string): Promise<StoredRecord | null>;
  /** Errors: `RECORD_CONFLICT` when `expectedVersion` is not the present one. */
  set(scope: RecordScope, key: string, value: Uint8Array, options?: WriteRecordOptions): Promise<StoredRecord>;
  /** Resolves to whether it was there. Errors: `RECORD_CONFLICT`. */
  delete(scope: RecordScope, key: string, options?: { expectedVersion?: number | undefined }): Promise<boolean>;
  list(scope: RecordScope, options?: ListRecordsOptions): Promise<StoredRecord[]>;
  /**
   * Lets the records whose keys begin with `prefix` expire in so many milliseconds. Where it is missing, they stay until they
   * are deleted.
   */
  expire?(scope: RecordScope, prefix: string, after: number): Promise<void>;
  /**
   * The labels under which a session has records, in the order of their UTF-8 bytes. Those of no session that begin with "stemma:" are
   * the store's own and a server's: they are not among them, and go with no session.
   */
  labels(sessionId: string): Promise<string[]>;
  /**
   * Milliseconds since 1970 by the database's clock, for programs on several machines to tell by whether a lease has ended.
   * Missing where the database has none: then each tells it by how long a record's version did not change.
   */
  now?(): Promise<number>;
}

/** The label of how far a session was learned from. A fork has a copy of it. */
export const LEARNING = "learning";

/** The label of what a session's turns know of each other. It goes when the messages are cleared. */
export const TURNS = "turns";
