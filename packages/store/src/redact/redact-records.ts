import {
  decodeJson,
  encodeJson,
  findJson,
  isJsonObject,
  type JsonObject,
  packFrames,
  unpackFrames,
} from "@stemma/model";
import { LEARNING, type RecordScope, type RedactWhere, TURNS } from "../contract/store.js";
import { type IsIdentifier, plainText, type RedactText, redactJson } from "./inner-texts.js";

type RedactRecord = (value: Uint8Array, key: string, where: RedactWhere, text: RedactText) => Uint8Array;

const unchanged: RedactRecord = (value) => value;

/** The records of our own labels; those of any other label may hold any JSON or text. */
const RECORDS: Readonly<Record<string, RedactRecord>> = {
  chat: (value, key, where, text) => (key === "run" ? value : redactChunks(value, where, text)),
  [TURNS]: (value, key, where, text) => (key.startsWith("note/") ? redactBytes(value, where, text, isOfNote) : value),
  [LEARNING]: unchanged,
  title: unchanged,
  "imported-usage": unchanged,
  imported: redactPiece,
  claude: (value, _key, where, text) => redactBytes(value, where, text, isOfTranscript),
  langgraph: redactFrames,
  "langgraph-writes": redactFrames,
  "langgraph-values": redactFrames,
  "langgraph-children": unchanged,
  openaiAgents: unchanged,
  langchain: unchanged,
  "langgraph-removed": unchanged,
};

/**
 * A record whose texts are redacted: the strings of one in JSON, all of one in plain text. Other bytes are no text, and stay
 * as they are. Errors: `REDACTION_FAILED`.
 */
export function redactRecord(
  { sessionId, label }: RecordScope,
  key: string,
  value: Uint8Array,
  text: RedactText,
): Uint8Array {
  const where: RedactWhere = { kind: "record", sessionId, label, key };
  const known = Object.hasOwn(RECORDS, label) ? RECORDS[label] : undefined;
  return (known ?? ((bytes) => redactBytes(bytes, where, text)))(value, key, where, text);
}

function redactBytes(value: Uint8Array, where: RedactWhere, text: RedactText, isIdentifier?: IsIdentifier): Uint8Array {
  const plain = plainText(value);
  if (plain === null) return value;
  const redacted = redactLine(plain, where, text, (json) => redactJson(json, where, text, isIdentifier));
  return redacted === plain ? value : new TextEncoder().encode(redacted);
}

// A text, mostly of JSON. Of a field that stands twice in an object, JSON reads the last one.
function redactLine(plain: string, where: RedactWhere, text: RedactText, redact: (json: unknown) => unknown): string {
  const json = findJson(plain);
  if (json === undefined) return text(plain, where);
  const redacted = redact(json);
  return redacted === json && text(plain, where) === plain ? plain : JSON.stringify(redacted);
}

// What a client is told of the run names it and its messages.
function redactChunks(value: Uint8Array, where: RedactWhere, text: RedactText): Uint8Array {
  const chunks = decodeJson(value) as JsonObject[];
  const redacted = chunks.map((chunk) =>
    chunk.type === "data-run" ? chunk : redactJson(chunk, where, text, ([field]) => CHUNK.has(field)),
  );
  return redacted.every((chunk, index) => chunk === chunks[index]) ? value : encodeJson(redacted);
}

// A line of a file as it stood there, mostly of JSON itself.
function redactPiece(value: Uint8Array, _key: string, where: RedactWhere, text: RedactText): Uint8Array {
  const piece = decodeJson(value);
  if (!isJsonObject(piece) || typeof piece.source !== "string") return redactBytes(value, where, text);
  if (findJson(piece.source) === undefined) return redactBytes(value, where, text, isOfPiece);
  const source = redactLine(piece.source, where, text, (json) => redactJson(json, where, text));
  return source === piece.source ? value : encodeJson({ ...piece, source });
}

// The header names channels, types and other records.
function redactFrames(value: Uint8Array, key: string, where: RedactWhere, text: RedactText): Uint8Array {
  const { header, frames } = unpackFrames(value, key);
  // A checkpoint and its metadata come before the values of its channels.
  const redacted = frames.map((frame, index) =>
    redactFrame(frame, where, text, where.label === "langgraph" && index < 2),
  );
  return redacted.every((frame, index) => frame === frames[index]) ? value : packFrames(header, redacted);
}

function redactFrame(frame: Uint8Array, where: RedactWhere, text: RedactText, isCheckpoint: boolean): Uint8Array {
  const plain = plainText(frame);
  if (plain === null) return frame;
  const redacted = redactLine(plain, where, text, (json) => redactLangChain(json, where, text, isCheckpoint));
  return redacted === plain ? frame : new TextEncoder().encode(redacted);
}

const CHUNK: ReadonlySet<string | number | undefined> = new Set([
  "type",
  "id",
  "toolName",
  "toolCallId",
  "messageId",
  "approvalId",
  "mediaType",
  "sourceId",
]);

const isOfNote: IsIdentifier = ([field]) => field === "messageId" || field === "recalled";

const isOfPiece: IsIdentifier = ([field]) => field === "messageId";

const TRANSCRIPT: ReadonlySet<string | number | undefined> = new Set([
  "parent",
  "uuid",
  "parentUuid",
  "logicalParentUuid",
  "leafUuid",
  "messageId",
  "sessionId",
  "agentId",
  "requestId",
  "id",
  "type",
  "subtype",
  "role",
  "timestamp",
  "version",
]);

// Of an entry of Claude, of its message, or of the summary.
const isOfTranscript: IsIdentifier = (path) =>
  (path.length <= 2 || (path.length === 3 && path[1] === "message")) && TRANSCRIPT.has(path.at(-1));

const NAMES: ReadonlySet<string | number | undefined> = new Set([
  "id",
  "ts",
  "channel_versions",
  "versions_seen",
  "source",
  "parents",
  "thread_id",
  "run_id",
  "checkpoint_id",
  "checkpoint_ns",
]);
const MESSAGE: ReadonlySet<string | number | undefined> = new Set(["id", "type", "tool_call_id", "status"]);
const CALL: ReadonlySet<string | number | undefined> = new Set(["id", "type", "name"]);
const CALLS: ReadonlySet<string> = new Set(["tool_calls", "invalid_tool_calls", "tool_call_chunks"]);

/**
 * A value as LangChain's serializer writes it, with its strings redacted but for the names of classes and the ids of
 * messages and calls; the value itself where nothing changed. `isCheckpoint`: it is a checkpoint without its channels, or its
 * metadata.
 */
export function redactLangChain<T>(value: T, where: RedactWhere, text: RedactText, isCheckpoint = false): T {
  return redactAt(value, where, text, isCheckpoint ? ([field]) => NAMES.has(field) : none) as T;
}

function redactAt(value: unknown, where: RedactWhere, text: RedactText, isIdentifier: IsIdentifier): unknown {
  if (!mayHoldObjects(value)) return redactJson(value, where, text, isIdentifier);
  if (Array.isArray(value)) return changed(value, (item, index) => redactAt(item, below(where, index), text, none));
  const { kwargs } = value;
  if (value.lc === 1 && value.type === "constructor" && isJsonObject(kwargs)) {
    const made = changed(kwargs, (item, key) => {
      if (MESSAGE.has(key)) return item;
      const isOfCall: IsIdentifier = CALLS.has(key) ? ([, field]) => CALL.has(field) : none;
      return isOfCall === none
        ? redactAt(item, below(where, "kwargs", key), text, none)
        : redactJson(item, below(where, "kwargs", key), text, isOfCall);
    });
    return made === kwargs ? value : { ...value, kwargs: made };
  }
  // A value of a class, as a Set, with the arguments that make it again.
  if (value.lc === 2 && value.type === "constructor") {
    return changed(value, (item, key) => (key === "args" ? redactAt(item, below(where, key), text, none) : item));
  }
  return changed(value, (item, key) =>
    isIdentifier([key], "") ? item : redactAt(item, below(where, key), text, none),
  );
}

const none: IsIdentifier = () => false;

function mayHoldObjects(value: unknown): value is JsonObject | unknown[] {
  return typeof value === "object" && value !== null;
}

function below(where: RedactWhere, ...keys: (string | number)[]): RedactWhere {
  return { ...where, path: [...(where.path ?? []), ...keys] };
}

// The same object where no field changed.
function changed<T extends JsonObject | unknown[]>(value: T, change: (item: unknown, key: never) => unknown): T {
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  const made = entries.map(([key, item]) => [key, change(item, key as never)] as const);
  if (made.every(([, item], index) => item === entries[index]?.[1])) return value;
  return (Array.isArray(value) ? made.map(([, item]) => item) : Object.fromEntries(made)) as T;
}
