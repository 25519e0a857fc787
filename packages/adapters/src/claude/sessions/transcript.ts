import { splitSteps, textOfOutput } from "@stemma/formats";
import {
  decodeJson,
  encodeJson,
  INTERRUPTED,
  isJsonObject,
  type JsonObject,
  readToolPart,
  type SessionMessage,
  type SessionMessagePart,
  sha256,
} from "@stemma/model";
import type { KeptWrite, RecordScope, Store, StoredMessage } from "@stemma/store";
import { allPages } from "../../item-history.js";
import { type LooseResults, pairsOf, type ToolPair } from "../../item-messages.js";
import type { PlacedEntry } from "./entries.js";

export interface TranscriptHead {
  /** The place that the next entry gets. */
  readonly next: number;
  /** When it was last appended to, in milliseconds since 1970. */
  readonly mtime: number;
  /** The SDK's summary; null for a sub-agent, which has none. */
  readonly summary: JsonObject | null;
}

const HEAD = "head";
const ENTRIES = "entry/";
const PAGE = 200;

/** A transcript in the session `id` of a store: its messages are the session's, everything else is in records. */
export class Transcript {
  readonly #scope: RecordScope;

  constructor(
    private readonly store: Store,
    readonly id: string,
  ) {
    this.#scope = { sessionId: id, label: "claude" };
  }

  /** Null for one that was never written; with the version that it is written over. */
  async head(): Promise<(TranscriptHead & { readonly version: number }) | null> {
    const record = await this.store.records.get(this.#scope, HEAD);
    return record === null ? null : { ...(decodeJson(record.value) as TranscriptHead), version: record.version };
  }

  /** An entry that was appended, by its uuid: whether it is a message, and the message that what follows it belongs to. */
  async find(uuid: string): Promise<{ readonly parent: string | null } | null> {
    const record = await this.store.records.get(this.#scope, keyOfUuid(uuid));
    if (record !== null) return decodeJson(record.value) as ApartEntry;
    const message = await this.store.session(this.id).message(uuid);
    return message === null ? this.#findMade(uuid) : { parent: uuid };
  }

  writeHead(head: TranscriptHead, expectedVersion: number): KeptWrite {
    return { records: this.#scope, key: HEAD, value: encodeJson(head), options: { expectedVersion } };
  }

  writeEntry(placed: ApartEntry): KeptWrite {
    const { uuid } = placed.entry;
    const key = typeof uuid === "string" ? keyOfUuid(uuid) : `${ENTRIES}${placed.n}`;
    return { records: this.#scope, key, value: encodeJson(placed) };
  }

  /** Reads the messages that are stored of it, up to the place `end`. */
  async read(end: number): Promise<StoredTranscript> {
    const messages: StoredMessage[] = [];
    for await (const stored of this.store.session(this.id).messages()) messages.push(stored);
    const apart: ApartEntry[] = [];
    for await (const { value } of allPages(this.store.records, this.#scope, { prefix: ENTRIES }, PAGE))
      apart.push(decodeJson(value) as ApartEntry);
    return { messages, apart, end };
  }

  /** The message of another program that an entry was made of; null where there is none. */
  async #findMade(uuid: string): Promise<{ readonly parent: string } | null> {
    if (!isMadeUuid(uuid)) return null;
    const session = this.store.session(this.id);
    for (let after: string | undefined; ; ) {
      // Claude goes on from a new one, as a rule.
      const { nodes, next } = await session.treePage({ after, limit: PAGE });
      const found = nodes.find(({ id }) => isMadeOf(uuid, id));
      if (found !== undefined) return { parent: found.id };
      if (next === null) return null;
      after = next;
    }
  }
}

// What has a uuid is stored once.
function keyOfUuid(uuid: string): string {
  return `${ENTRIES}uuid/${encodeURIComponent(uuid.toWellFormed())}`;
}

/** An entry that is no message, as a record keeps it. */
export interface ApartEntry extends PlacedEntry {
  /** The message that an entry below this one belongs to; null for none. */
  readonly parent: string | null;
}

export interface StoredTranscript {
  /** In the order in which they were written, those of other programs among them. */
  readonly messages: readonly StoredMessage[];
  readonly apart: readonly ApartEntry[];
  /** The place that the next entry gets: what has a later one is not part of it yet. */
  readonly end: number;
}

export interface MadeContent {
  readonly type: "user" | "assistant";
  readonly blocks: JsonObject[];
}

/**
 * A message of another program, as Claude's API takes it: the calls of the model, their results in an entry of the user behind
 * them. Left out are reasoning, which has no signature of Claude, files that it does not take, and messages of the system.
 * Whatever result is told is taken out of `loose`; `waiting` are the calls of Claude's own entries.
 */
export function madeContents(
  { role, parts }: SessionMessage,
  loose: LooseResults,
  waiting: ReadonlySet<string>,
): MadeContent[] {
  const contents: MadeContent[] = [];
  const add = (type: MadeContent["type"], blocks: JsonObject[]): void => {
    if (blocks.length > 0) contents.push({ type, blocks });
  };
  add(
    "user",
    parts.flatMap((part) => answerOf(part, loose, waiting)),
  );
  const steps = role === "user" ? [parts] : role === "system" ? [] : splitSteps(parts, isText);
  for (const step of steps) {
    const pairs = pairsOf(step, loose);
    const said = step.map((part) => blockOf(part, role === "user")).filter((block) => block !== null);
    if (role === "user") {
      add("assistant", pairs.map(callBlock));
      add("user", pairs.map(resultBlock));
      add("user", said);
    } else {
      add("assistant", [...said, ...pairs.map(callBlock)]);
      add("user", pairs.map(resultBlock));
    }
  }
  return contents;
}

/** The results that others gave to the calls of an entry of Claude. */
export function madeResults({ parts }: SessionMessage): JsonObject[] {
  return parts.flatMap((part) => {
    const call = readToolPart(part);
    return call?.kind === "both" ? [resultBlock({ call, result: call })] : [];
  });
}

// A result for a call that Claude made.
function answerOf(part: SessionMessagePart, loose: LooseResults, waiting: ReadonlySet<string>): JsonObject[] {
  const result = readToolPart(part);
  if (result?.kind !== "result" || result.toolCallId === null || !waiting.has(result.toolCallId)) return [];
  return loose.delete(result.toolCallId) ? [resultBlock({ call: result, result })] : [];
}

function callBlock({ call: { toolCallId, toolName, input } }: ToolPair): JsonObject {
  const given = isJsonObject(input) ? input : input === undefined ? {} : { input };
  return { type: "tool_use", id: callId(toolCallId), name: toolName ?? "tool", input: given };
}

function resultBlock({ call, result }: ToolPair): JsonObject {
  const block = { type: "tool_result", tool_use_id: callId(call.toolCallId) };
  if (result === null) return { ...block, content: INTERRUPTED, is_error: true };
  if (result.errorText !== null) return { ...block, content: result.errorText, is_error: true };
  return { ...block, content: isContent(result.output) ? result.output : textOfOutput(result.output) };
}

// The API takes no other ids.
function callId(id: string | null): string {
  return /^[\w-]{1,64}$/.test(id ?? "") ? String(id) : `toolu_${sha256(String(id)).slice(0, 24)}`;
}

function isContent(output: unknown): boolean {
  return (
    Array.isArray(output) &&
    output.length > 0 &&
    output.every((block) => isJsonObject(block) && (block.type === "text" || block.type === "image"))
  );
}

function isText({ type, text }: SessionMessagePart): boolean {
  return type === "text" && typeof text === "string" && text !== "";
}

function blockOf(part: SessionMessagePart, isUser: boolean): JsonObject | null {
  if (isText(part)) return { type: "text", text: part.text };
  return isUser && part.type === "file" && typeof part.url === "string" ? fileBlock(part.url, part.mediaType) : null;
}

function fileBlock(url: string, given: unknown): JsonObject | null {
  const [, mediaType, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
  const kind = String(mediaType ?? given);
  const type = kind.startsWith("image/") ? "image" : kind === "application/pdf" ? "document" : null;
  if (type === null) return null;
  if (data !== undefined) return { type, source: { type: "base64", media_type: mediaType, data } };
  return /^https?:/.test(url) ? { type, source: { type: "url", url } } : null;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The uuid of an entry that is made of a message of another program, the same each time. `behind` says how many entries are
 * made of the message behind this one: the last one of a message whose id is a uuid has that.
 */
export function madeUuid(messageId: string, behind: number): string {
  if (behind === 0 && UUID.test(messageId)) return messageId;
  const digest = sha256(messageId);
  const place = behind.toString(16).padStart(4, "0").slice(-4);
  return signed(`${digest.slice(0, 8)}-${place}-8${digest.slice(8, 11)}-a${digest.slice(11, 14)}`);
}

/** True for a uuid that was made so, and is no message's own. */
function isMadeUuid(uuid: string): boolean {
  return UUID.test(uuid) && signed(uuid.slice(0, 23)) === uuid;
}

/** True where the uuid was made of this message, or of the results that others gave to its calls. */
function isMadeOf(uuid: string, messageId: string): boolean {
  const beginning = uuid.slice(0, 8) + uuid.slice(15, 18) + uuid.slice(20, 23);
  return [messageId, resultsOf(messageId)].some((id) => sha256(id).startsWith(beginning));
}

/** The id from which those of an entry with the results of others are derived. */
export function resultsOf(messageId: string): string {
  return `${messageId} results`;
}

// The end tells it from uuids of others.
function signed(beginning: string): string {
  return `${beginning}-${sha256(`stemma ${beginning}`).slice(0, 12)}`;
}
