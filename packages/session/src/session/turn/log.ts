// What is stored of a session's turns: its form, how it is written with a turn, and how it is read again.
import {
  decodeJson,
  encodeJson,
  inPieces,
  isSummaryMessage,
  perObject,
  type SessionMessage,
  StemmaError,
  utf8Length,
  yieldIfDue,
} from "@stemma/model";
import {
  type BlockWrite,
  type RecordScope,
  type RecordStore,
  type RecordWrite,
  type Redaction,
  redactRecord,
  type StoredRecord,
  TURNS,
  type WriteRecordOptions,
} from "@stemma/store";
import type { Recalled, RecalledPlace } from "../recall/recall-options.js";
import { notesOf, type TurnNote } from "./notes.js";
import {
  type ContextSize,
  hashOf,
  type PartSource,
  type RefreshReason,
  type RequestPart,
  sizeOf,
  sizeOfText,
  sizesOf,
  summaryIn,
} from "./request.js";

/** The records of a session: a store's, or those of one process. */
export type TurnRecords = Pick<RecordStore, "get" | "set" | "delete" | "list" | "expire" | "now">;

/** Where turns are logged: a store, or the memory of one process. */
export interface TurnStore {
  readonly records: TurnRecords;
  /** Missing where texts are stored as they are. */
  readonly redaction?: Redaction | undefined;
  /** Makes all of the writes, or none of them. A block is written to a store only. */
  writeTogether(writes: readonly (RecordWrite | BlockWrite)[]): Promise<unknown>;
}

/** How long notes and turns are stored, in milliseconds: longer than any provider keeps a prefix. */
const LIFETIME = 30 * 24 * 60 * 60 * 1000;

/** How long notes beside another prompt are stored: that prompt may come again, and its prefix may still be cached. */
const OUTDATED = 24 * 60 * 60 * 1000;
/** How many of them a turn removes at most. */
const MOST_REMOVED = 100;

const STATE = "last";
const ALL = Number.MAX_SAFE_INTEGER;
const NOTES = "note/";
const noteKey = (prompt: string, messageId = "") => `${NOTES}${prompt}/${messageId}`;
const turnKey = (messageId: string | null) => `turn/${messageId ?? ""}`;

/** The notes of a session, as they are stored. */
export class KeptNotes {
  constructor(private readonly records: readonly StoredRecord[]) {}

  /** Those that were told beside the prompt of this digest, by message. */
  beside(prompt: string | undefined): Map<string, TurnNote> {
    if (prompt === undefined) return new Map();
    const own = this.records.filter(({ key }) => key.startsWith(noteKey(prompt)));
    const notes = own.map(({ value }) => decodeJson(value) as TurnNote);
    return new Map(notes.map((note) => [note.messageId, note]));
  }

  /** The keys of those beside other prompts that are to be removed. */
  outdated(prompt: string): string[] {
    const limit = Date.now() + LIFETIME - OUTDATED;
    const others = this.records.filter(({ key, expiresAt }) => {
      return !key.startsWith(noteKey(prompt)) && expiresAt !== null && expiresAt < limit;
    });
    return others.slice(0, MOST_REMOVED).map(({ key }) => key);
  }
}

/** All that is stored of a turn. */
interface TurnWrite {
  readonly turn: LoggedTurn;
  readonly state: TurnState;
  /** The note that is told for the first time; null without one. */
  readonly note: TurnNote | null;
  /** The write of the prompt, where a store of ours keeps it and it was rendered anew. */
  readonly prompt: BlockWrite | null;
  /** As it was read. */
  readonly before: { readonly kept: KeptNotes; readonly state: KeptState | null };
}

/** Logs a session's turns in its records, so that each knows of those before. */
export class TurnLog {
  readonly #scope: RecordScope;

  constructor(
    private readonly store: TurnStore,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: TURNS };
  }

  async state(): Promise<KeptState | null> {
    const record = await this.store.records.get(this.#scope, STATE);
    return record === null ? null : { ...(decodeJson(record.value) as TurnState), version: record.version };
  }

  /** The latest request for a message; null where nothing is known of it. */
  async turn(messageId: string): Promise<LoggedTurn | null> {
    return this.#read<LoggedTurn>(turnKey(messageId));
  }

  /**
   * Stores a turn, what it tells, and the state that it leaves, all of it or nothing: the next turn tells by the state how it differs
   * from this one. False where another turn was faster to tell something behind the same message, or to store anything while this one
   * quotes something: then nothing is stored.
   */
  async write({ turn, state, note, prompt, before }: TurnWrite): Promise<boolean> {
    const expiresAt = Date.now() + LIFETIME;
    const record = (key: string, value: unknown, options: WriteRecordOptions = {}): RecordWrite => {
      return { records: this.#scope, key, value: encodeJson(value), options };
    };
    // First, since a provider's records make the writes before one that fails.
    const isAlone = note !== null && note.recalled.length > 0 ? { expectedVersion: before.state?.version ?? 0 } : {};
    const writes = [
      record(STATE, state, isAlone),
      ...(note === null
        ? []
        : [record(noteKey(state.prompt, note.messageId), note, { expectedVersion: 0, expiresAt })]),
      ...(prompt === null ? [] : [prompt]),
      record(turnKey(turn.messageId), turn, { expiresAt }),
      ...before.kept.outdated(state.prompt).map((key): RecordWrite => ({ records: this.#scope, key, value: null })),
    ];
    try {
      await this.store.writeTogether(writes);
      return true;
    } catch (error) {
      if (note !== null && StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
      throw error;
    }
  }

  async notes(): Promise<KeptNotes> {
    return new KeptNotes(await this.store.records.list(this.#scope, { prefix: NOTES, limit: ALL }));
  }

  /** The note behind a message; null without one. */
  async note(prompt: string, messageId: string): Promise<TurnNote | null> {
    return this.#read<TurnNote>(noteKey(prompt, messageId));
  }

  /** A note as it will be read the next time. Errors: `REDACTION_FAILED`. */
  asStored(prompt: string, note: TurnNote): TurnNote {
    const { redaction } = this.store;
    if (redaction === undefined) return note;
    const value = redactRecord(this.#scope, noteKey(prompt, note.messageId), encodeJson(note), redaction.text);
    return decodeJson(value) as TurnNote;
  }

  async #read<T>(key: string): Promise<T | null> {
    const record = await this.store.records.get(this.#scope, key);
    return record === null ? null : (decodeJson(record.value) as T);
  }
}

/** The latest request, as far as the next one is compared with it. */
export interface TurnState {
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** The digest of the prompt. */
  readonly prompt: string;
  /** The id of the newest summary; null without one. */
  readonly summaryId: string | null;
  /** The message that was to be answered; null without one. */
  readonly messageId: string | null;
  /** The last message; null without one. */
  readonly leafId: string | null;
  /** The pieces, as `outlineOf` sums them up. */
  readonly outline: readonly string[];
}

/** A state as it was read. */
export interface KeptState extends TurnState {
  /** Of its record. */
  readonly version: number;
}

/** Where a request first differs from the one before, so that a provider's cache ends there. */
export interface PrefixBreak {
  /**
   * Bytes that are still the same. In the prompt it is the first byte that differs, as long as this process or the store has the
   * prompt that was sent; elsewhere the beginning of the first piece that differs.
   */
  readonly offset: number;
  /** The piece that differs; null where the request ends earlier than the one before. */
  readonly source: PartSource | null;
  /** The tool's name, the block's folded label, or the message's id. */
  readonly name: string | null;
  /**
   * The cause: why the prompt was refreshed; `"prompt"` when the program or another process rendered it;
   * `"tools"`; `"branch"` when another branch was chosen; `"edit"` when a message was changed or removed.
   */
  readonly by: RefreshReason | "prompt" | "tools" | "branch" | "edit";
}

/** A note behind a message, or behind a summary, by its size. */
export interface LoggedNote {
  readonly messageId: string;
  readonly update: ContextSize;
  /** The folded labels of the blocks that the update tells. */
  readonly labels: readonly string[];
  readonly recall: ContextSize;
  readonly recalled: readonly RecalledPlace[];
}

/** A request as it is logged: sizes and hashes, no texts. */
export interface LoggedTurn {
  readonly messageId: string | null;
  readonly leafId: string | null;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  readonly refreshed: false | RefreshReason;
  readonly prefixHash: string;
  readonly size: ContextSize;
  /** Tools and the pieces of the prompt. */
  readonly fixed: readonly (ContextSize & { readonly source: PartSource; readonly name: string })[];
  /** The ids of the visible summaries' messages. */
  readonly summaryIds: readonly string[];
  /** Of the visible messages, summaries included, without what is told behind them. */
  readonly history: ContextSize & { readonly count: number };
  /** The notes behind messages. */
  readonly notes: readonly LoggedNote[];
  /** The cost of its recall; null where it had none. */
  readonly recall: RecallCost | null;
  /** Null when the request begins with all of the one before, or is the first. */
  readonly brokenAt: PrefixBreak | null;
}

/** The cost of a recall, and whether it took too long, so that the request went without. */
export type RecallCost = Omit<Recalled, "results">;

/** A request of which something is kept, in short; `explainContext` tells all of it. */
export interface TurnSummary {
  /** The message that it answered. */
  readonly messageId: string;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** Estimated. */
  readonly tokens: number;
  readonly bytes: number;
  readonly refreshed: false | RefreshReason;
  readonly prefixHash: string;
  /** Null where it began with all of the request before. */
  readonly brokenAt: PrefixBreak | null;
}

export interface TurnPage {
  /** Newest first. */
  readonly turns: TurnSummary[];
  /** Pass it as `after` to get the page behind this one, also where this one is empty; null when there is none. */
  readonly next: string | null;
}

export interface TurnPageOptions {
  /** Only turns of messages before this one. Default: from the active leaf on. */
  readonly after?: string | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
}

const DEFAULT_LIMIT = 50;

/** So many messages are looked at for a page, at most. */
const MOST_MESSAGES = 1000;

/** How many are asked for at once. */
const AT_ONCE = 32;

/** The turns of `messages`, which come newest first. */
export async function readTurns(
  messages: AsyncIterable<SessionMessage>,
  log: TurnLog,
  limit: number = DEFAULT_LIMIT,
): Promise<TurnPage> {
  const turns: TurnSummary[] = [];
  let seen = 0;
  let waiting: string[] = [];
  const look = async (): Promise<string | null> => {
    for (const [index, turn] of (await Promise.all(waiting.map((id) => log.turn(id)))).entries()) {
      if (turn === null) continue;
      turns.push(summaryOf(waiting[index] as string, turn));
      if (turns.length === limit) return waiting[index] as string;
    }
    return null;
  };
  for await (const { id } of messages) {
    waiting.push(id);
    seen += 1;
    if (waiting.length < AT_ONCE && seen < MOST_MESSAGES) continue;
    const next = (await look()) ?? (seen < MOST_MESSAGES ? null : id);
    if (next !== null) return { turns, next };
    waiting = [];
  }
  return { turns, next: await look() };
}

function summaryOf(messageId: string, { sentAt, size, refreshed, prefixHash, brokenAt }: LoggedTurn): TurnSummary {
  return { messageId, sentAt, tokens: size.tokens, bytes: size.bytes, refreshed, prefixHash, brokenAt };
}

/** Records of a session whose provider has no place for them: they end with the process. */
class MemoryRecords implements TurnRecords, TurnStore {
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

  // The first one fails before any is made.
  async writeTogether(writes: readonly (RecordWrite | BlockWrite)[]): Promise<void> {
    for (const write of writes) {
      if ("block" in write) continue;
      const { records, key, value, options } = write;
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

/** A request as it is to be sent. */
export interface ComposedTurn {
  readonly target: SessionMessage | undefined;
  readonly refreshed: false | RefreshReason;
  readonly parts: readonly RequestPart[];
  /** As `outlineOf` sums the parts up. */
  readonly outline: readonly string[];
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  readonly notes: ReadonlyMap<string, TurnNote>;
  readonly recall: RecallCost | null;
  readonly system: string;
  /** The prompt that was frozen before, with its digest; null without one. */
  readonly frozen: { readonly text: string; readonly digest: string } | null;
}

/** Sums up a request for the log; `before` is what was sent last. */
export async function loggedTurn(turn: ComposedTurn, before: TurnState | null): Promise<LoggedTurn> {
  const { target, refreshed, parts, messages, recall } = turn;
  const isFixed = ({ source }: RequestPart) => source !== "message" && source !== "summary";
  const prefixHash = await inPieces(hashOf(parts));
  const notes = notesOf(messages, turn.notes).map(loggedNote);
  await yieldIfDue();
  const history = { ...sizeOf(await historyParts(turn)), count: messages.length };
  await yieldIfDue();
  const size = sizeOf(parts);
  const fixed = parts.filter(isFixed).map(({ source, name, tokens, bytes }) => ({ source, name, tokens, bytes }));
  const summaryIds = messages.filter(isSummaryMessage).map(({ id }) => id);
  await yieldIfDue();
  const brokenAt = before === null ? null : breakOf(before, turn);
  await yieldIfDue();
  const messageId = target?.id ?? null;
  const leafId = messages.at(-1)?.id ?? null;
  return {
    messageId,
    leafId,
    sentAt: Date.now(),
    refreshed,
    prefixHash,
    size,
    fixed,
    summaryIds,
    history,
    notes,
    recall,
    brokenAt,
  };
}

// The messages, as far as they have a note without it: the pieces of the others say how large they are.
async function historyParts({ parts, messages, notes }: ComposedTurn): Promise<ContextSize[]> {
  const noted = await sizesOf(notes.size === 0 ? [] : messages.filter(({ id }) => notes.has(id)));
  return [...parts.slice(parts.length - messages.length).filter(({ name }) => !notes.has(name)), ...noted];
}

function loggedNote({ messageId, update, blocks, recall, recalled }: TurnNote): LoggedNote {
  return { messageId, update: sizeOfText(update), labels: Object.keys(blocks), recall: sizeOfText(recall), recalled };
}

function breakOf(before: TurnState, turn: ComposedTurn): PrefixBreak | null {
  const { refreshed, parts, messages, outline } = turn;
  const index = before.outline.findIndex((piece, place) => piece !== outline[place]);
  if (index < 0) return null;
  const part = parts[index] ?? null;
  const inPrompt = part?.source === "prompt" || part?.source === "block" ? sameOfPrompt(before, turn) : null;
  return {
    offset: inPrompt ?? sizeOf(parts.slice(0, index)).bytes,
    source: part?.source ?? null,
    name: part?.name ?? null,
    by: causeOf(before, refreshed, part, messages),
  };
}

// How many bytes are the same up to a place within the prompt; null where the one that was sent is not known any more.
function sameOfPrompt({ prompt }: TurnState, { frozen, system, parts }: ComposedTurn): number | null {
  if (frozen === null || frozen.digest !== prompt) return null;
  const tools = sizeOf(parts.filter(({ source }) => source === "tool"));
  return tools.bytes + samePrefixBytes(frozen.text, system);
}

// Half a surrogate pair has no bytes of its own.
function samePrefixBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let same = 0;
  while (same < length && one.charCodeAt(same) === other.charCodeAt(same)) same += 1;
  return utf8Length(one.slice(0, same).replace(/[\ud800-\udbff]$/, ""));
}

function causeOf(
  before: TurnState,
  refreshed: false | RefreshReason,
  part: RequestPart | null,
  messages: readonly SessionMessage[],
): PrefixBreak["by"] {
  if (part?.source === "tool") return "tools";
  if (refreshed !== false) return refreshed;
  if (part?.source === "prompt" || part?.source === "block") return "prompt";
  if (summaryIn(messages) !== before.summaryId) return "compaction";
  return messages.some(({ id }) => id === before.leafId) ? "edit" : "branch";
}
