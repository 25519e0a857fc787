import type { SessionMessage } from "@stemma/model";
import { isTooDeep, type JsonObject, Recent, searchableText } from "@stemma/model";
import type { UsageRow } from "@stemma/store";
import { nameFromText } from "./identity.js";
import { OpenMessages } from "./programs/open-messages.js";
import {
  type KeptPiece,
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

/** A message as a file says it. */
interface Said extends Pick<SessionMessage, "id" | "role" | "parts"> {
  /** ISO time. */
  readonly createdAt?: string | null | undefined;
  /** The model that wrote it, which becomes that of the session. */
  readonly model?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** The fields of a session that are known from the beginning. */
export type SessionStart = Pick<ParsedSession, "id" | "source" | "parentSessionId">;

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
  #kept: KeptPiece[] = [];
  #skipped: Skipped[] = [];
  #unread: Unread[] = [];
  #size = 0;
  #last = START;

  constructor(readonly start: SessionStart) {}

  /** The message that was added last. */
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
    else this.#kept.push({ key, source, at, messageId, kind });
  }

  skip(at: Position, why: string): void {
    this.#skipped.push({ ...at, why });
  }

  /** Tells of something that is not understood. */
  notUnderstood(at: Position, what: string): void {
    this.#unread.push({ at, what });
  }

  /** Sets the registry's metadata of the session; the first that is given counts. */
  describe(metadata: JsonObject | null): void {
    if (metadata !== null && Object.keys(this.#metadata).length === 0) this.#metadata = metadata;
  }

  /** Takes the piece that was collected since the one before. The last piece tells what was used. */
  piece(isLast: boolean): ParsedSession {
    const { sum: usage, rows: usageRows } = this.usage.told(isLast);
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
      kept: this.#kept,
      skipped: this.#skipped,
      unread: this.#unread,
      more: !isLast,
    };
    this.#compactions = [];
    this.#kept = [];
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

/** Usage of a session's requests, by day and model. */
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
  told(isLast: boolean): { readonly sum: Usage | undefined; readonly rows: UsageRow[] } {
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
