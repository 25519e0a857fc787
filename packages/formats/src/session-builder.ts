// One class that every reader fills: what a file says of a session, put together.
import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  Recent,
  type SessionMessage,
  type SessionMessagePart,
  searchableText,
} from "@stemma/model";
import type { UsageRow } from "@stemma/store";
import { nameFromText } from "./identity.js";
import {
  type KeptPiece,
  type ParsedMessage,
  type ParsedSession,
  type Position,
  type Skipped,
  TOO_DEEP,
  type Unread,
  type Usage,
} from "./stemma/session-file.js";

/** Characters of a file that one piece of a session stands for. */
const PIECE = 250_000;
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

interface Said extends Pick<SessionMessage, "id" | "role" | "parts"> {
  /** ISO time. */
  readonly createdAt?: string | null | undefined;
  /** The model that wrote it, which becomes that of the session. */
  readonly model?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

type SessionStart = Pick<ParsedSession, "id" | "source" | "parentSessionId">;

/**
 * Collects one session while its file is read, and gives it away in pieces, so that a file of any length needs little
 * memory. A message stays open for the results of its tools after its piece was given away; it then comes again.
 */
export class SessionBuilder {
  model: string | undefined;
  activeLeafId: string | undefined;
  readonly places = new Recent<Place>(PLACES);
  readonly messages = new OpenMessages();
  readonly names = new SessionNames();
  readonly usage = new UsageCount();
  #metadata: JsonObject = {};
  #compactions: Compaction[] = [];
  #details: KeptPiece[] = [];
  #skipped: Skipped[] = [];
  #unread: Unread[] = [];
  #size = 0;
  #last = START;

  constructor(readonly start: SessionStart) {}

  get last(): Place {
    return this.#last;
  }

  /** True when so much was collected that it should be given away. */
  get isFull(): boolean {
    return this.#size >= PIECE;
  }

  /** Characters of the file that are in memory: those of the piece, and those of messages that may be completed. */
  get weight(): number {
    return this.#size + this.messages.weight;
  }

  /** Forgets what it needs only where the session goes on soon. What comes later finds its place in the store. */
  forget(): void {
    this.places.clear();
    this.messages.forget();
  }

  /** Counts characters of the file towards the piece. */
  read(length: number): void {
    this.#size += length;
  }

  /** Adds a message below `parent`. Gives the place of what follows it. */
  addMessage(said: Said, parent: Place, at: Position, length: number): Place {
    const { id, role, parts, createdAt, model, metadata } = said;
    const about = model === undefined ? metadata : { model, ...metadata };
    const message: SessionMessage = {
      id,
      role,
      parts,
      ...(createdAt == null ? {} : { createdAt }),
      ...(about === undefined ? {} : { metadata: about }),
    };
    this.model = model ?? this.model;
    this.messages.add({ message, parentId: parent.id, after: this.#last.id, at }, length);
    this.names.after(message);
    this.#last = { id: message.id, root: parent.id === null ? message.id : parent.root };
    return this.#last;
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
    const mark = { id, role: "system", parts: [], createdAt: compaction.createdAt };
    const place = this.addMessage(mark, above, at, 0);
    this.addCompaction({ ...compaction, fromMessageId: place.root ?? id, toMessageId: id });
    return place;
  }

  /** Keeps a piece of the file word for word. `kind` is what a report counts it as. */
  keep(key: string, source: JsonObject, at: Position, messageId: string | null, kind: string | null = null): void {
    if (isTooDeep(source)) this.skip(at, TOO_DEEP);
    else this.#details.push({ key, source, at, messageId, kind });
  }

  skip(at: Position, why: string): void {
    this.#skipped.push({ ...at, why });
  }

  notUnderstood(at: Position, what: string): void {
    this.#unread.push({ at, what });
  }

  /** Sets the registry's metadata of the session; the first that is given counts. */
  describe(metadata: JsonObject | null): void {
    if (metadata !== null && Object.keys(this.#metadata).length === 0) this.#metadata = metadata;
  }

  /** Takes the piece that was collected since the one before. The last piece tells what was used. */
  piece(isLast: boolean): ParsedSession {
    const { sum: usage, rows: usageRows } = this.usage.totals(isLast);
    const piece: ParsedSession = {
      ...this.start,
      name: this.names.latest ?? this.start.id,
      formerNames: [this.start.id, ...this.names.former],
      model: this.model,
      metadata: this.#metadata,
      usage,
      usageRows,
      messages: this.messages.take(),
      compactions: this.#compactions,
      activeLeafId: this.activeLeafId,
      kept: this.#details,
      skipped: this.#skipped,
      unread: this.#unread,
      more: !isLast,
    };
    this.#compactions = [];
    this.#details = [];
    this.#skipped = [];
    this.#unread = [];
    this.#size = 0;
    return piece;
  }
}

/** The names of a session while its file is read: a title that was given wins over what a user said first. */
class SessionNames {
  readonly #all: string[] = [];
  #hasTitle = false;

  get latest(): string | undefined {
    return this.#all.at(-1);
  }

  get former(): string[] {
    return this.#all.slice(0, -1);
  }

  /** Takes a title; anything but a text is none. */
  give(title: unknown): void {
    const name = typeof title === "string" ? nameFromText(title) : null;
    if (name === null) return;
    this.#hasTitle = true;
    this.#add(name);
  }

  /** Names the session after what a user said, where it has no name yet. */
  after(message: SessionMessage): void {
    if (this.#hasTitle || this.#all.length > 0 || message.role !== "user") return;
    const text = searchableText(message);
    // What a program puts before the user's words is set in tags.
    const name = /^\s*(<|Caveat: |# AGENTS\.md)/.test(text) ? null : nameFromText(text);
    if (name !== null) this.#add(name);
  }

  #add(name: string): void {
    if (this.latest === name) return;
    this.#all.push(name);
    // The first one and the newest: a file can be named anew with every prompt.
    if (this.#all.length > 20) this.#all.splice(1, 1);
  }
}

const NOTHING = { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

export class UsageCount {
  readonly #rows = new Map<string, UsageRow>();
  #sum: Usage | undefined;

  /** Counts a request of a day, as `2026-11-22`, or the rest of one that was counted in part. One of no day is only in the sum. */
  add(day: string | undefined, model: string, used: Usage, requests: number): void {
    this.#sum = sumOf(this.#sum ?? NOTHING, used);
    if (day === undefined) return;
    const key = `${day} ${model}`;
    const before = this.#rows.get(key) ?? NOTHING;
    this.#rows.set(key, { day, model, requests: before.requests + requests, ...sumOf(before, used) });
  }

  /** All that was counted, which the last piece of a session tells; nothing before that. */
  totals(isLast: boolean): { readonly sum: Usage | undefined; readonly rows: UsageRow[] } {
    return isLast ? { sum: this.#sum, rows: [...this.#rows.values()] } : { sum: undefined, rows: [] };
  }
}

function sumOf(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
  };
}

/** Characters of messages that are held to be completed by what comes later. */
const HELD = 500_000;
/** Calls that are known by their id. */
const CALLS = 10_000;

/** The messages of a piece of a session. One stays open for what completes it, and is then part of the next piece again. */
class OpenMessages {
  readonly #held = new Recent<ParsedMessage>(HELD);
  /** For each call that waits: its message, and the places of its parts there. */
  readonly #calls = new Recent<{ readonly messageId: string; readonly places: number[] }>(CALLS);
  #piece = new Map<string, ParsedMessage>();

  /** Characters of the messages that may be completed. */
  get weight(): number {
    return this.#held.weight;
  }

  add(parsed: ParsedMessage, length: number): void {
    const { message } = parsed;
    this.#piece.set(message.id, parsed);
    this.#held.set(message.id, parsed, length);
    this.#noteCalls(message, 0);
  }

  /** The message with this id, to be changed. Undefined for one that is not open. */
  find(id: string | undefined): SessionMessage | undefined {
    const parsed = id === undefined ? undefined : this.#held.get(id);
    if (parsed === undefined) return undefined;
    const { message } = parsed;
    if (!this.#piece.has(message.id)) this.#piece.set(message.id, { ...parsed, again: true });
    return message;
  }

  /** The message above an open one; null above a root, and for a message that is not open. */
  parentOf(messageId: string): string | null {
    return this.#held.get(messageId)?.parentId ?? null;
  }

  extend(message: SessionMessage, parts: readonly SessionMessagePart[], length: number): void {
    const before = message.parts.length;
    message.parts.push(...parts);
    this.#held.grow(message.id, length);
    this.#noteCalls(message, before);
  }

  /** Gives the call `callId` its result. The message that called; null when no open message waits for it. */
  answer(callId: unknown, fields: JsonObject, length: number): SessionMessage | null {
    if (typeof callId !== "string") return null;
    const call = this.#calls.get(callId);
    const message = this.find(call?.messageId);
    const place = call?.places.shift();
    const part = place === undefined ? undefined : message?.parts[place];
    if (message === undefined || place === undefined || part === undefined) return null;
    message.parts[place] = { ...part, ...fields };
    if (call?.places.length === 0) this.#calls.delete(callId);
    this.extend(message, [], length);
    return message;
  }

  take(): ParsedMessage[] {
    const piece = [...this.#piece.values()];
    this.#piece = new Map();
    return piece;
  }

  /** Forgets what may be completed. */
  forget(): void {
    this.#held.clear();
    this.#calls.clear();
  }

  // The later parts only: a message may have as many as its file has lines.
  #noteCalls({ id, parts }: SessionMessage, from: number): void {
    for (let place = from; place < parts.length; place += 1) {
      const { type, state, toolCallId } = parts[place] as SessionMessagePart;
      if (type !== "dynamic-tool" || state !== "input-available") continue;
      const known = this.#calls.get(String(toolCallId));
      if (known?.messageId === id) known.places.push(place);
      else this.#calls.set(String(toolCallId), { messageId: id, places: [place] });
    }
  }
}

/** Notes in a message that a further piece of the file, with this id, became part of it. */
export function addSource(message: SessionMessage, format: string, id: string): void {
  const noted = isJsonObject(message.metadata) ? message.metadata[format] : undefined;
  if (isJsonObject(noted) && Array.isArray(noted.sources) && noted.sources.at(-1) !== id) noted.sources.push(id);
}
