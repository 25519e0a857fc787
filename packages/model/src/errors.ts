// One file: the error, its codes, and how much of a text it repeats. Most of it is the table of codes.

/** Every code that a `StemmaError` can carry, with what it means. The codes are stable: programs may compare them. */
export const ERROR_CODES = {
  // messages
  INVALID_MESSAGE: "A message lacks id, role or parts, uses a reserved id, or cannot be written as JSON.",
  INVALID_TEXT: "A text holds NUL or half a surrogate pair, which a database cannot keep.",
  MESSAGE_NOT_FOUND: "No message with this id is in the session.",
  MESSAGE_EXISTS: "A message that must be new is stored already.",
  MESSAGE_CHANGED: "A stored message is not the one that a write expected; nothing was changed.",
  MESSAGE_TOO_LARGE: "A message is larger than the store can hold.",
  PARENT_NOT_FOUND: "The parent named for a message is not in the session.",
  LEAF_MOVED: "The active leaf is not the one that an append expected; nothing was stored.",
  CORRUPT_ENTRY: "The value of a stored entry cannot be read back.",
  CORRUPT_MESSAGE: "A stored message cannot be read back, or its row does not fit the others of its session.",
  // sessions
  SESSION_STARTED: "A builder method was called after the session was first used.",
  SESSION_ID_BOUND: "The provider is already bound to another session id.",
  SESSION_NOT_FOUND: "No session with this id is registered.",
  SESSION_OWNED: "The session belongs to another user.",
  SESSION_LIMIT: "A numbering limit of the data model is reached.",
  INVALID_ARGUMENT: "An argument has the wrong type or lies outside its range.",
  // context
  PROVIDER_REQUIRED: "This session has no store to keep the block in, so the block needs a provider.",
  USER_REQUIRED: "The block belongs to the user, and the session has none.",
  PROVIDER_SHARED: "One provider object cannot hold the frozen prompts of several sessions.",
  PROVIDER_FAILED: "A provider threw; the original error is the cause.",
  INVALID_LABEL: "A block label is empty, too long, or holds a line break or a box-drawing line.",
  DUPLICATE_LABEL: "Another block has the same label, regardless of case.",
  BLOCK_NOT_FOUND: "No block has this label.",
  BLOCK_READONLY: "The block's provider cannot write, or the scope is only read.",
  BLOCK_OVER_BUDGET: "The content is larger than the block's budget.",
  BLOCK_CONFLICT: "The block changed since the expected version was read.",
  WRITE_DENIED: "The host did not approve what the model asked to write.",
  BLOCK_INVALID: "The content does not fit the block's schema.",
  VERSION_NOT_FOUND: "The block or entry has no such version, or no longer keeps it.",
  ENTRY_NOT_FOUND: "No entry has this key under the label.",
  ENTRY_CONFLICT: "The entry does not have the text that the write expected.",
  RECORD_CONFLICT: "The record changed since the expected version was read.",
  MEMORY_REFUSED: "The memory tool cannot carry out a command; the message is what the model is told.",
  CONTEXT_NOT_LOADED: "A synchronous read of the context came before its first asynchronous call.",
  // compaction
  COMPACTION_NOT_CONFIGURED:
    "compact() was called, or compactAfter() had to compact, on a session without onCompaction().",
  COMPACTION_NOT_FOUND: "No compaction with this id is in the session.",
  COMPACTION_INVALID_RANGE: "The range is unknown, reversed, or not on one path.",
  COMPACTION_STALE: "The history changed under a compaction; nothing was stored.",
  COMPACTION_TIMEOUT:
    "The compact function, a token counter or a block gave no answer in time; a later answer is ignored.",
  COMPACTION_NO_GAIN: "Three compactions in a row did not shrink the history; the automatic trigger pauses.",
  COMPACTION_NO_ROOM: "A compaction left less than half of the threshold free; the automatic trigger pauses.",
  // learning
  LEARNING_FAILED:
    "A learn or title function, or the `extract` of a consolidation, gave no answer in time, or none that can be read; or `extract` threw, and its error is the cause.",
  // search
  SEARCH_UNAVAILABLE: "The session's provider or store has no search.",
  EMBEDDER_FAILED: "The embedder threw, or did not give one vector for each text.",
  EMBEDDER_REPLACED: "Another process embeds the same database with another model.",
  RECALL_LATE: "A recall took longer than maxMs: telemetry says so, and the request goes without.",
  RERANKER_FAILED: "The reranker threw, was too slow, or did not give one finite number for each passage.",
  MODEL_BUSY: "A model on this machine had no time for a request: too many came at once.",
  // stores
  STORE_CLOSED: "The store was closed.",
  CONNECTION_LOST: "The connection to the database was lost; a write may have been stored or not.",
  STORE_LOCKED: "Another connection held the database longer than the busy timeout.",
  STORE_REPLACED:
    "The database's file was replaced or deleted while the store was open; nothing more is written to it.",
  STORE_FAILED: "The database refused a statement; its own error is the cause.",
  TABLES_MISSING: "Tables or functions of the database are gone, although others of Stemma's are there.",
  STORE_DAMAGED: "A backup was not made, because the check found damage in it.",
  FILE_EXISTS: "The file that would be written is there already; it was not overwritten.",
  STORE_UNSUPPORTED: "The object is no store, agent or provider that Stemma knows, or the store cannot do this.",
  NOT_A_DATABASE: "The file is not a SQLite database.",
  WRONG_KEY: "The SQLite file is encrypted with another key, or was opened without its key.",
  DATABASE_TOO_NEW: "The database was written by a newer version of stemma.",
  MIGRATION_REQUIRED: "The database's tables must be created or upgraded by a role that may do so.",
  REDACTION_FAILED: "The redact function threw, or gave no text; nothing was stored.",
  DRIVER_MISSING: "A package is missing, such as a SQLite engine; the message says what to install.",
  // chat over HTTP
  REQUEST_TOO_LARGE: "The body of a request is larger than the handler takes.",
  RUN_LOST:
    "Another process took a chat's answer over from one that stood still longer than its lease; nothing more was stored.",
  REQUEST_REFUSED:
    "A server refused a request of useChatTree or StemmaClient with no code of this table, or did not answer as it should.",
  // over the network
  NOT_ALLOWED: "A request has no key or token, or one that is unknown, revoked or expired.",
  FORBIDDEN: "The key or token does not reach what the call is about, or may not write there.",
  NOT_FOUND: "There is no such record, tool or API key, or nothing at the address.",
  TENANT_ERASED: "The tenant is erased, or is about to be. Its name can be used again an hour later.",
  TENANTS_BUSY: "The stores of as many tenants as the server keeps open are in use; try again.",
  RATE_LIMITED: "There were too many requests with this key or token: wait for `details.retryAfter` seconds.",
  QUOTA_EXCEEDED:
    "The quota of the key or token is used up: `details` has which one, its `limit`, and when it begins anew (`resetsAt`).",
  // session runner and its storages
  SESSION_BUSY: "The session is answering: a second turn was started, or a message was sent, before the turn ended.",
  SESSION_CLOSED: "The session was closed.",
  SESSION_EXISTS: "A session with this id is already stored.",
  SESSION_CONFLICT: "Another program wrote the session since it was read; nothing was overwritten.",
  TOOL_REFUSED: "A tool call was not approved, or there is no one to approve it.",
  MODEL_FAILED: "The model's answer broke off, or its provider failed with something that is not an error.",
  NOTHING_TO_ANSWER: "receive() was called, but the last message is already the model's answer.",
  INVALID_SESSION_ID: "The storage cannot keep a session under this id.",
  CORRUPT_STATE: "The data that a storage holds for a session is not a valid session state.",
  // adapters of other frameworks
  OPERATION_CONFLICT: "Another operation had this id before; nothing was changed.",
  HISTORY_CHANGED: "The history does not end with the items that a change expected; nothing was changed.",
  // command line
  COPY_CONFLICT: "The store that is copied to holds something else under the same id; it was not overwritten.",
  UNKNOWN_FORMAT: "A file's format was not recognised.",
  FILE_REFUSED: "A file that is imported has a value or a session without end, or mostly values that cannot be read.",
  ARCHIVE_REFUSED:
    "An archive is damaged, cut or encrypted, holds no conversations, or unpacks to far more than its size.",
  MODEL_UNAVAILABLE: "The model that you named cannot be used; the message says what to install or set.",
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Characters that an error, or a tool's answer, repeats of what it was given. */
const MAX_ECHO = 200;
/** Characters that the details keep of one: as many as a message's id may have, to act on it. */
const MAX_DETAIL = 1024;
const MAX_MESSAGE = 4000;
const MAX_LISTED = 100;

/** The first `length` characters of a text, with an ellipsis when there are more; none is cut in two. */
export function shorten(text: string, length: number = MAX_ECHO): string {
  return text.length <= length ? text : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** A text as an answer repeats it: in quotation marks, on one line, the first 200 characters of it. */
export function quote(text: string): string {
  const quoted = JSON.stringify(shorten(text));
  return quoted.replace(/[\u007f-\u009f\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Names the kind of a value for an error. */
export function kindOf(value: unknown): string {
  if (value instanceof Promise) return "a promise: await it";
  if (value instanceof Date) return "a Date";
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}

/** The message of an error; the text of anything else. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function detailOf(value: unknown): unknown {
  if (typeof value === "string") return shorten(value, MAX_DETAIL);
  return Array.isArray(value) ? value.slice(0, MAX_LISTED).map(detailOf) : value;
}

// Whoever throws an error names what it is about in the details too, so it is bounded here, once for all of them.
function messageOf(message: string, details: Record<string, unknown>): string {
  let bounded = message;
  for (const value of Object.values(details)) {
    if (typeof value === "string" && value.length > MAX_ECHO) bounded = bounded.replaceAll(value, () => shorten(value));
  }
  return shorten(bounded, MAX_MESSAGE);
}

// Shared by every copy of the package in a process, so that `StemmaError.isInstance` works across copies.
const marker = Symbol.for("stemma.error");

/**
 * The only error that Stemma throws: a stable `code`, `details` to act on, a message that says what to do. The message
 * repeats at most 200 characters of an argument or an id, the details 1,024.
 */
export class StemmaError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  /** Cuts the message and the details to their limits, and the lists in them to 100 items. Throws nothing. */
  constructor(code: ErrorCode, details: Record<string, unknown>, message: string, options?: { cause?: unknown }) {
    super(messageOf(message, details), options);
    this.name = "StemmaError";
    this.code = code;
    this.details = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, detailOf(value)]));
    Object.defineProperty(this, marker, { value: true });
  }

  /**
   * True for a `StemmaError` of any copy of the package, with this code if one is given.
   * @example
   * const session = await resumeSession("me").catch((error: unknown) => {
   *   if (StemmaError.isInstance(error, "SESSION_NOT_FOUND")) return createSession({ id: "me" });
   *   throw error;
   * });
   */
  static isInstance(error: unknown, code?: ErrorCode): error is StemmaError {
    if (typeof error !== "object" || error === null || !(marker in error)) return false;
    return code === undefined || (error as unknown as StemmaError).code === code;
  }
}

/** The error for an argument that a call cannot take. */
export function invalid(
  message: string,
  details: Record<string, unknown> = {},
  options?: { cause?: unknown },
): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", details, message, options);
}

// The build puts it here: see `scripts/studio-page.mjs`.
declare const STEMMA_VERSION: string;

/** The version of the package. */
export const packageVersion = STEMMA_VERSION;

// What a session's tree refuses, said alike by a store and over a provider that a user wrote.

/** The error for an append that expected another active leaf; null for none. */
export function leafMoved(sessionId: string, expectedLeaf: string | null, activeLeaf: string | null): StemmaError {
  const [is, not] = [activeLeaf, expectedLeaf].map((id) => (id === null ? "none" : `"${id}"`));
  const message = `The active leaf is ${is}, not ${not}. Read the history again, and append below its last message.`;
  return new StemmaError("LEAF_MOVED", { sessionId, expectedLeaf, activeLeaf }, message);
}

export function noMessage(sessionId: string, messageId: string): StemmaError {
  const message = `No message "${messageId}" is in this session.`;
  return new StemmaError("MESSAGE_NOT_FOUND", { sessionId, messageId }, message);
}

export function messageExists(sessionId: string, messageId: string): StemmaError {
  return new StemmaError("MESSAGE_EXISTS", { sessionId, messageId }, `Message "${messageId}" is in this session.`);
}

export function messageChanged(sessionId: string, messageId: string): StemmaError {
  const message = `Another writer changed message "${messageId}" meanwhile: read it again, then write.`;
  return new StemmaError("MESSAGE_CHANGED", { sessionId, messageId }, message);
}

export function noParent(
  details: { readonly sessionId?: string; readonly parentId: string },
  options?: { readonly cause: unknown },
): StemmaError {
  const advice = "Pass null to start a new root, or the id of a message that exists.";
  const message = `Message "${details.parentId}" is not in this session. ${advice}`;
  return new StemmaError("PARENT_NOT_FOUND", details, message, options);
}

export function noCompaction(sessionId: string, compactionId: string): StemmaError {
  const message = `No compaction "${compactionId}" is in this session.`;
  return new StemmaError("COMPACTION_NOT_FOUND", { sessionId, compactionId }, message);
}

/** The error for a summary over what is no range of one path. */
export function invalidRange(
  sessionId: string,
  { fromMessageId, toMessageId }: { readonly fromMessageId: string; readonly toMessageId: string },
  why: string,
): StemmaError {
  const message = `A summary cannot cover "${fromMessageId}" to "${toMessageId}": ${why}.`;
  return new StemmaError("COMPACTION_INVALID_RANGE", { sessionId, fromMessageId, toMessageId }, message);
}

/** The error for a summary of what is no longer there as it was. */
export function staleRange(sessionId: string): StemmaError {
  const message = "The messages of the range changed while they were summarised; nothing was stored. Compact again.";
  return new StemmaError("COMPACTION_STALE", { sessionId }, message);
}
