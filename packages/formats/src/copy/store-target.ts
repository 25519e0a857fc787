// One side of a copy, whole: what a store is given of each session, and how that is compared with what it has.
import { type JsonObject, StemmaError, sameJson } from "@stemma/model";
import {
  completeKept,
  type ImportedCompaction,
  type ImportedMessage,
  type ImportedVector,
  type KeptItem,
  type KeptVector,
  type KeptWrite,
  type MemoryOwner,
  type MemoryScope,
  type SessionInfo,
  type Store,
  type VectorModel,
  type VectorStore,
  writeKept,
} from "@stemma/store";
import type { ParsedSession, SessionCopy } from "../stemma/session-file.js";
import { findOwner, openSession } from "../stemma/stemma-jsonl.js";
import {
  compactionLines,
  keptLines,
  memoryHeader,
  memoryLines,
  messageLines,
  readKeptLine,
  scopeOf,
  sessionHeader,
  sessionLines,
} from "../stemma/store-lines.js";
import { type CopyTarget, conflict } from "./contract.js";
import { modelOf, readVectorLine, vectorHeader, vectorLine } from "./jsonl-parts.js";

/** A store that is copied to: what it lacks is written behind what it has. */
export function storeTarget(store: Store): CopyTarget {
  const { vectors } = store;
  let writer: VectorWriter | null = null;
  return {
    keepsVectors: vectors !== undefined,
    async write(of, header, lines) {
      if ("vectors" in of) {
        writer = vectors === undefined ? null : new VectorWriter(vectors, of.vectors, header);
        return (await writer?.write(lines)) ?? false;
      }
      const owner = findOwner(header.memory);
      if (owner === undefined) return (await SessionWriter.open(store, header)).write(lines);
      const [target, scope] = scopeOf(store, owner);
      const items = new ItemWriter(target, scope, of);
      for await (const line of lines) await items.write(line);
      return items.finish();
    },
    async *read(of) {
      // As far as they were given before: a target may have more.
      if ("vectors" in of) {
        if (writer?.sessionId === of.vectors) yield* writer.read();
        return;
      }
      const session = "session" in of ? await store.sessions.get(of.session) : null;
      if (session === null) {
        yield memoryHeader(of);
        yield* memoryLines(store, of);
        return;
      }
      yield await sessionHeader(store, session);
      yield* sessionLines(store, session.id);
    },
  };
}

/** Messages, and characters of them, that are written together. */
const MOST_MESSAGES = 500;
const MOST_TEXT = 2_000_000;

const IDENTITY = ["name", "parent_session_id", "model", "source", "user_id", "metadata"] as const;

/** Writes one session from its lines: first the messages, then what lies over them, then its registry entry as it was. */
class SessionWriter {
  #messages: ImportedMessage[] = [];
  #size = 0;
  #isWritten = false;
  readonly #storedMessages: Matching;
  readonly #storedCompactions: Matching;
  readonly #items: ItemWriter;

  private constructor(
    private readonly store: Store,
    private readonly header: JsonObject,
    private readonly session: ParsedSession & { copy: SessionCopy },
    private isNew: boolean,
  ) {
    const { id } = session;
    this.#storedMessages = new Matching(messageLines(store, id));
    this.#storedCompactions = new Matching(compactionLines(store, id));
    this.#items = new ItemWriter(store, { sessionId: id }, { session: id });
  }

  /** Errors: `COPY_CONFLICT` where the store has another session with this id; `INVALID_ARGUMENT` for a header that says what none can. */
  static async open(store: Store, header: JsonObject): Promise<SessionWriter> {
    const session = openSession(header, [], { line: 0 });
    const present = await store.sessions.get(session.id);
    const given = header.session as unknown as SessionInfo;
    const other = present === null ? undefined : IDENTITY.find((name) => !isEqual(present[name], given[name]));
    if (other !== undefined) throw conflict({ session: session.id }, `its ${other} is another one`);
    return new SessionWriter(store, header, session, present === null);
  }

  /** Resolves to whether anything was missing. Errors: `COPY_CONFLICT`, and those of the writes. */
  async write(lines: AsyncIterable<JsonObject>): Promise<boolean> {
    let stage = 0;
    for await (const line of lines) {
      const next = "message" in line ? 0 : "compaction" in line ? 1 : 2;
      if (next < stage)
        throw new StemmaError("UNKNOWN_FORMAT", {}, "Messages come first, then summaries, then the rest.");
      if (stage === 0 && next > 0) await this.#endMessages();
      stage = next;
      if (next === 0) await this.#addMessage(line);
      else if (next === 1) await this.#addCompaction(line);
      else await this.#items.write(line);
    }
    if (stage === 0) await this.#endMessages();
    if ((await this.#storedCompactions.peek()) !== null) throw this.#conflict("it has further summaries");
    if (await this.#items.finish()) this.#isWritten = true;
    const isRestored = await restoreEntry(this.store, this.header, this.session);
    return this.#isWritten || isRestored;
  }

  async #addMessage(line: JsonObject): Promise<void> {
    const present = await this.#storedMessages.peek();
    if (present !== null) {
      if (!isSameLine(present, line)) throw this.#conflict("its messages are others");
      this.#storedMessages.advance();
      return;
    }
    this.#messages.push(messageOf(line));
    this.#size += JSON.stringify(line).length;
    if (this.#messages.length >= MOST_MESSAGES || this.#size >= MOST_TEXT) await this.#flush();
  }

  async #endMessages(): Promise<void> {
    if ((await this.#storedMessages.peek()) !== null) throw this.#conflict("it has further messages");
    await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#messages.length === 0 && !this.isNew) return;
    const { id, name, model, source, parentSessionId, userId, metadata } = this.session;
    await this.store.session(id).importTree({
      messages: this.#messages,
      session: { name, model, source, parentSessionId, userId, metadata },
    });
    this.#messages = [];
    this.#size = 0;
    this.isNew = false;
    this.#isWritten = true;
  }

  async #addCompaction(line: JsonObject): Promise<void> {
    const present = await this.#storedCompactions.peek();
    if (present === null) {
      const compaction = { ...(line.compaction as object), coveredTokens: line.coveredTokens } as ImportedCompaction;
      await this.store.session(this.session.id).importTree({ messages: [], compactions: [compaction] });
      this.#isWritten = true;
      return;
    }
    if (!isSameLine(present, line)) throw this.#conflict("its summaries are others");
    this.#storedCompactions.advance();
  }

  #conflict(what: string): StemmaError {
    return conflict({ session: this.session.id }, what);
  }
}

function messageOf({ message, parentId, storedAt, createdAt }: JsonObject): ImportedMessage {
  const given = message as unknown as ImportedMessage["message"];
  return {
    // Of a store it is a date, whose text as such lacks milliseconds; of a line of JSON it is a text.
    message: createdAt === "Date" ? { ...given, createdAt: new Date(given.createdAt as Date | string) } : given,
    parentId: parentId as string | null,
    storedAt: storedAt as string | undefined,
  };
}

const COUNTED = ["input_tokens", "output_tokens", "estimated_cost"] as const;
const DATED = ["created_at", "updated_at", "end_reason"] as const;

/**
 * Gives a session the usage, the skills, the active leaf and the dates that `header` tells, which every write before changes.
 * Resolves to whether anything was missing. Errors: `COPY_CONFLICT`.
 */
async function restoreEntry(
  store: Store,
  header: JsonObject,
  { id, copy, usage }: ParsedSession & { copy: SessionCopy },
): Promise<boolean> {
  const refuse = (what: string) => conflict({ session: id }, what);
  const info = await store.sessions.get(id);
  if (info === null) throw refuse("it was deleted meanwhile");
  const present = await sessionHeader(store, info);
  const given = header.session as unknown as SessionInfo;
  const isUsed = isEqual(present.usage, header.usage) && COUNTED.every((name) => info[name] === given[name]);
  if (!isUsed) {
    const isCounted = (present.usage as unknown[]).length > 0 || COUNTED.some((name) => info[name] !== 0);
    if (isCounted) throw refuse("it counts other usage");
    await store.sessions.importUsage(id, usage ?? { inputTokens: 0, outputTokens: 0, cost: 0 }, copy.usageRows);
  }
  const isSkilled = isEqual(present.skills, header.skills);
  if (!isSkilled && !isEqual(present.skills, { loaded: [], unloaded: [] })) throw refuse("it has other skills");
  const isPlaced = isSkilled && present.activeLeafId === header.activeLeafId;
  if (!isPlaced) {
    const activeLeafId = header.activeLeafId as string | null;
    const skills = isSkilled ? undefined : copy.skills;
    await store.session(id).importTree({ messages: [], activeLeafId, skills });
  }
  const dated = await store.sessions.get(id);
  const isDated = dated !== null && DATED.every((name) => dated[name] === given[name]);
  if (!isDated) await store.sessions.restore(id, copy.dates);
  return !(isUsed && isPlaced && isDated);
}

/** True for the same values; what is missing is null on the other side. */
function isEqual(one: unknown, other: unknown): boolean {
  return sameJson(one ?? null, other ?? null);
}

/** Vectors, and bytes of them, that are written together. */
const MOST_VECTORS = 256;
const MOST_BYTES = 2_000_000;

/** Writes the vectors of one session, and reads what is there of them. */
class VectorWriter {
  readonly #model: VectorModel;
  #vectors: KeptVector[] = [];
  #isWritten = false;
  /** Messages whose vectors the target has made itself while the source waits for them. */
  readonly #own = new Set<string>();
  #last: string | null = null;

  constructor(
    private readonly store: VectorStore,
    readonly sessionId: string,
    header: JsonObject,
  ) {
    this.#model = modelOf(header);
  }

  /** Resolves to whether anything was missing. Errors: `COPY_CONFLICT`, `UNKNOWN_FORMAT`, and those of the writes. */
  async write(lines: AsyncIterable<JsonObject>): Promise<boolean> {
    const { dimensions } = this.#model;
    const most = Math.min(MOST_VECTORS, Math.ceil(MOST_BYTES / (4 * dimensions)));
    for await (const line of lines) {
      this.#vectors.push(readVectorLine(line, dimensions));
      if (this.#vectors.length >= most) await this.#flush();
    }
    await this.#flush();
    return this.#isWritten;
  }

  async *read(): AsyncGenerator<JsonObject> {
    yield vectorHeader(this.sessionId, this.#model);
    // Behind the last that is copied, what the target has is its own.
    if (this.#last === null) return;
    for await (const vector of this.store.list(this.sessionId, this.#model)) {
      if (!this.#own.has(vector.messageId)) yield vectorLine(vector);
      if (vector.messageId === this.#last) return;
    }
  }

  async #flush(): Promise<void> {
    if (this.#vectors.length === 0) return;
    const states = await this.store.import(this.sessionId, this.#model, this.#vectors);
    for (const [index, { messageId }] of this.#vectors.entries()) this.#note(messageId, states[index]);
    this.#vectors = [];
  }

  #note(messageId: string, state: ImportedVector | undefined): void {
    if (state === "written") this.#isWritten = true;
    if (state === "own") this.#own.add(messageId);
    this.#last = messageId;
  }
}

/** Records, and bytes of them, that are written together. */
const MOST_RECORDS = 200;

/** Writes what is kept beside messages, or outside of sessions, where the store has none of it. */
class ItemWriter {
  readonly #stored: Matching;
  #records: KeptWrite[] = [];
  #bytes = 0;
  #isWritten = false;

  constructor(
    private readonly store: Store,
    private readonly scope: MemoryScope,
    private readonly of: MemoryOwner,
  ) {
    this.#stored = new Matching(keptLines(store, scope));
  }

  /** Errors: `COPY_CONFLICT`, and those of the writes. */
  async write(line: JsonObject): Promise<void> {
    const item = readKeptLine(line.kept);
    if (item === null)
      throw new StemmaError("UNKNOWN_FORMAT", {}, "A line holds nothing that is kept beside messages.");
    const present = await this.#stored.peek();
    const known = present === null ? null : readKeptLine(present.kept);
    if (present !== null && known !== null && JSON.stringify(describe(known)) === JSON.stringify(describe(item))) {
      if (!isSameLine(present, line)) await this.#complete(item, known);
      this.#stored.advance();
      return;
    }
    if (item.kind === "record") await this.#addRecord(item);
    else if (!(await writeKept(this.store, this.scope, item))) throw this.#conflict(item);
    else this.#isWritten = true;
  }

  /** Writes what was held back. Resolves to whether anything was missing. */
  async finish(): Promise<boolean> {
    await this.#flush();
    if ((await this.#stored.peek()) !== null) throw conflict(this.of, "it has further blocks, entries or records");
    return this.#isWritten;
  }

  // A copy that was cut off may have left a text without its versions.
  async #complete(item: KeptItem, known: KeptItem): Promise<void> {
    if (!(await completeKept(this.store, this.scope, item, known))) throw this.#conflict(item);
    this.#isWritten = true;
  }

  async #addRecord({ label, record }: Extract<KeptItem, { kind: "record" }>): Promise<void> {
    const { key, value, version, expiresAt } = record;
    const options = { version, expiresAt: expiresAt ?? undefined, expectedVersion: 0 };
    this.#records.push({ records: { sessionId: this.scope.sessionId, label }, key, value, options });
    this.#bytes += value.length;
    if (this.#records.length >= MOST_RECORDS || this.#bytes >= MOST_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#records.length === 0) return;
    await this.store.writeTogether(this.#records);
    this.#records = [];
    this.#bytes = 0;
    this.#isWritten = true;
  }

  #conflict(item: KeptItem): StemmaError {
    const [kind, label = "", key = ""] = describe(item);
    return conflict(
      this.of,
      `a ${kind} is another one${label === "" ? "" : ` ("${label}")`}${key === "" ? "" : ` ("${key}")`}`,
    );
  }
}

function describe(item: KeptItem): readonly [kind: string, label?: string, key?: string] {
  if (item.kind === "prompt") return ["prompt"];
  if (item.kind === "block") return ["block", item.block.label];
  if (item.kind === "entry") return ["entry", item.label, item.entry.key];
  return item.kind === "removed" ? ["removed", item.label, item.key] : ["record", item.label, item.record.key];
}

/** Walks along the lines that a target has, in the order of those that are copied to it. */
class Matching {
  readonly #lines: AsyncIterator<JsonObject>;
  #next: JsonObject | null = null;
  #isRead = false;

  constructor(lines: AsyncIterable<JsonObject>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async peek(): Promise<JsonObject | null> {
    if (!this.#isRead) {
      const step = await this.#lines.next();
      this.#next = step.done === true ? null : step.value;
      this.#isRead = true;
    }
    return this.#next;
  }

  advance(): void {
    // Behind the last there is nothing more, also if something is written there meanwhile.
    if (this.#next !== null) this.#isRead = false;
  }
}

const isSameLine = (one: JsonObject, other: JsonObject): boolean => JSON.stringify(one) === JSON.stringify(other);
