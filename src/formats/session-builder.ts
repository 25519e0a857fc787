import { isJsonObject, type JsonObject } from "../model/json-object.js";
import { isTooDeep, type SessionMessage, type SessionMessagePart } from "../model/message.js";
import { searchableText } from "../model/text.js";
import { Recent } from "../recent.js";
import type { UsageRow } from "../storage/contract.js";
import { nameFromText } from "./identity.js";
import {
  type KeptPiece,
  type ParsedMessage,
  type ParsedSession,
  type Position,
  type Skipped,
  TOO_DEEP,
  type Usage,
} from "./session-file.js";

/** Characters of a file that one piece of a session stands for. */
const PIECE = 250_000;
/** Characters of messages that are held to be completed by what comes later. */
const HELD = 500_000;
/** Places in the file that are known by their id; those before them, the importer finds in the store. */
const PLACES = 10_000;

/** A place in a conversation: what follows it hangs below the message `id`. Null before the first message. */
export interface Place {
  readonly id: string | null;
  /** The first message of its path, where it is known. */
  readonly root: string | null;
}

export const START: Place = { id: null, root: null };

type Compaction = ParsedSession["compactions"][number];

/** What is known of a session from the beginning. */
export type SessionStart = Pick<ParsedSession, "id" | "source" | "parentSessionId">;

/**
 * Collects one session while its file is read, and gives it away in pieces, so that a file of any length needs little
 * memory. A message stays open for the results of its tools after its piece was given away; it then comes again.
 */
export class SessionBuilder {
  model: string | undefined;
  activeLeafId: string | undefined;
  readonly places = new Recent<Place>(PLACES);
  readonly #held = new Recent<ParsedMessage>(HELD);
  readonly #calls = new Recent<string>(PLACES);
  readonly #usage = new Map<string, UsageRow>();
  readonly #names: string[] = [];
  #metadata: JsonObject = {};
  #hasTitle = false;
  #messages = new Map<string, ParsedMessage>();
  #compactions: Compaction[] = [];
  #kept: KeptPiece[] = [];
  #skipped: Skipped[] = [];
  #size = 0;

  constructor(readonly start: SessionStart) {}

  /** True when so much was collected that it should be given away. */
  get isFull(): boolean {
    return this.#size >= PIECE;
  }

  /** Characters of the file that are in memory: those of the piece, and those of messages that may be completed. */
  get weight(): number {
    return this.#size + this.#held.weight;
  }

  /** Forgets what it needs only where the session goes on soon. What comes later finds its place in the store. */
  forget(): void {
    this.places.clear();
    this.#held.clear();
    this.#calls.clear();
  }

  /** Counts characters of the file towards the piece. */
  read(length: number): void {
    this.#size += length;
  }

  addMessage(message: SessionMessage, parent: Place, at: Position, length: number): Place {
    const parsed = { message, parentId: parent.id, at };
    this.#messages.set(message.id, parsed);
    this.#held.set(message.id, parsed, length);
    this.#noteCalls(message);
    this.#nameAfter(message);
    return { id: message.id, root: parent.id === null ? message.id : parent.root };
  }

  /** A message that is still open, to be changed; it is part of the next piece. Undefined for any other. */
  openMessage(id: string | undefined): SessionMessage | undefined {
    const parsed = id === undefined ? undefined : this.#held.get(id);
    if (parsed === undefined) return undefined;
    const { message } = parsed;
    if (!this.#messages.has(message.id)) this.#messages.set(message.id, { ...parsed, again: true });
    return message;
  }

  /** The message above an open one; null above a root, and for a message that is not open. */
  parentOf(messageId: string): string | null {
    return this.#held.get(messageId)?.parentId ?? null;
  }

  /** Adds parts to an open message. */
  extend(message: SessionMessage, parts: readonly SessionMessagePart[], length: number): void {
    message.parts.push(...parts);
    this.#held.grow(message.id, length);
    this.#noteCalls(message);
  }

  /**
   * Gives the call `callId` its result. The message that called; null when no open message waits for it.
   */
  answer(callId: unknown, fields: JsonObject, length: number): SessionMessage | null {
    if (typeof callId !== "string") return null;
    const message = this.openMessage(this.#calls.get(callId));
    const index = message?.parts.findIndex((part) => isWaiting(part) && part.toolCallId === callId) ?? -1;
    const part = message?.parts[index];
    if (message === undefined || part === undefined) return null;
    message.parts[index] = { ...part, ...fields };
    this.#calls.delete(callId);
    this.extend(message, [], length);
    return message;
  }

  addCompaction(compaction: Compaction): void {
    this.#compactions.push(compaction);
  }

  /**
   * Lays a summary over everything above, by way of a message `id` that no one is shown: a branch that leaves the
   * conversation above it has its own messages, not the summary. Gives the place behind it.
   */
  summarise(
    id: string,
    above: Place,
    at: Position,
    compaction: Omit<Compaction, "fromMessageId" | "toMessageId">,
  ): Place {
    const { createdAt } = compaction;
    const mark: SessionMessage = { id, role: "system", parts: [], ...(createdAt === undefined ? {} : { createdAt }) };
    const place = this.addMessage(mark, above, at, 0);
    this.addCompaction({ ...compaction, fromMessageId: place.root ?? id, toMessageId: id });
    return place;
  }

  keep(piece: KeptPiece): void {
    if (isTooDeep(piece.source)) this.skip(piece.at, TOO_DEEP);
    else this.#kept.push(piece);
  }

  skip(at: Position, why: string): void {
    this.#skipped.push({ ...at, why });
  }

  /** Names the session: a title that was given wins over what a user said first. */
  title(name: unknown): void {
    if (typeof name !== "string") return;
    const title = nameFromText(name);
    if (title === null) return;
    this.#hasTitle = true;
    this.#addName(title);
  }

  /** What the registry says of the session beside its name; the first that is given counts. */
  describe(metadata: JsonObject | null): void {
    if (metadata !== null && Object.keys(this.#metadata).length === 0) this.#metadata = metadata;
  }

  /** Counts a request of a day, as `2026-11-22`, or the rest of one that was counted in part. */
  count(day: string | undefined, model: string, used: Usage, requests: number): void {
    if (day === undefined) return;
    const key = `${day} ${model}`;
    const { requests: r, inputTokens, outputTokens, cost } = this.#usage.get(key) ?? NOTHING;
    this.#usage.set(key, {
      day,
      model,
      requests: r + requests,
      inputTokens: inputTokens + used.inputTokens,
      outputTokens: outputTokens + used.outputTokens,
      cost: cost + used.cost,
    });
  }

  /** What was collected since the piece before. The last piece tells what was used. */
  piece(isLast: boolean): ParsedSession {
    const usageRows = isLast ? [...this.#usage.values()] : [];
    const name = this.#names.at(-1) ?? this.start.id;
    const piece: ParsedSession = {
      ...this.start,
      name,
      formerNames: [this.start.id, ...this.#names.slice(0, -1)],
      model: this.model,
      metadata: this.#metadata,
      usage: usageRows.length === 0 ? undefined : sumOf(usageRows),
      usageRows,
      messages: [...this.#messages.values()],
      compactions: this.#compactions,
      activeLeafId: this.activeLeafId,
      kept: this.#kept,
      skipped: this.#skipped,
      more: !isLast,
    };
    this.#messages = new Map();
    this.#compactions = [];
    this.#kept = [];
    this.#skipped = [];
    this.#size = 0;
    return piece;
  }

  #noteCalls({ id, parts }: SessionMessage): void {
    for (const part of parts) if (isWaiting(part)) this.#calls.set(String(part.toolCallId), id);
  }

  #nameAfter(message: SessionMessage): void {
    if (this.#hasTitle || this.#names.length > 0 || message.role !== "user") return;
    const text = searchableText(message);
    // What a program puts before the user's words is set in tags.
    const name = /^\s*(<|Caveat: |# AGENTS\.md)/.test(text) ? null : nameFromText(text);
    if (name !== null) this.#addName(name);
  }

  #addName(name: string): void {
    if (this.#names.at(-1) === name) return;
    this.#names.push(name);
    // The first one and the newest: a file can be named anew with every prompt.
    if (this.#names.length > 20) this.#names.splice(1, 1);
  }
}

const NOTHING = { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

function sumOf(rows: readonly UsageRow[]): Usage {
  return rows.reduce<Usage>(
    (sum, row) => ({
      inputTokens: sum.inputTokens + row.inputTokens,
      outputTokens: sum.outputTokens + row.outputTokens,
      cost: sum.cost + row.cost,
    }),
    { inputTokens: 0, outputTokens: 0, cost: 0 },
  );
}

function isWaiting(part: SessionMessagePart): boolean {
  return part.type === "dynamic-tool" && part.state === "input-available";
}

/** Notes in a message that a further piece of the file, with this id, became part of it. */
export function addSource(message: SessionMessage, format: string, id: string): void {
  const noted = isJsonObject(message.metadata) ? message.metadata[format] : undefined;
  if (isJsonObject(noted) && Array.isArray(noted.sources) && !noted.sources.includes(id)) noted.sources.push(id);
}
