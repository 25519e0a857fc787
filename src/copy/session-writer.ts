import { StemmaError } from "../errors.js";
import type { ParsedSession, SessionCopy } from "../formats/session-file.js";
import { openSession } from "../formats/stemma-header.js";
import { compactionLines, messageLines } from "../formats/store-lines.js";
import type { JsonObject } from "../model/json-object.js";
import type { ImportedCompaction, ImportedMessage, SessionInfo, Store } from "../storage/contract.js";
import { conflict } from "./conflict.js";
import { KeptWriter } from "./kept-writer.js";
import { isSameLine, Matching } from "./matching.js";
import { isEqual, restoreEntry } from "./restore-entry.js";

/** Messages, and characters of them, that are written together. */
const MOST_MESSAGES = 500;
const MOST_TEXT = 2_000_000;

/** What must be the same in the registry of both sides. */
const IDENTITY = ["name", "parent_session_id", "model", "source", "user_id", "metadata"] as const;

/** Writes one session from its lines: first the messages, then what lies over them, then its registry entry as it was. */
export class SessionWriter {
  #messages: ImportedMessage[] = [];
  #size = 0;
  #isWritten = false;
  readonly #storedMessages: Matching;
  readonly #storedCompactions: Matching;
  readonly #kept: KeptWriter;

  private constructor(
    private readonly store: Store,
    private readonly header: JsonObject,
    private readonly session: ParsedSession & { copy: SessionCopy },
    private isNew: boolean,
  ) {
    const { id } = session;
    this.#storedMessages = new Matching(messageLines(store, id));
    this.#storedCompactions = new Matching(compactionLines(store, id));
    this.#kept = new KeptWriter(store, { sessionId: id }, { session: id });
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
      else await this.#kept.write(line);
    }
    if (stage === 0) await this.#endMessages();
    if ((await this.#storedCompactions.peek()) !== null) throw this.#conflict("it has further summaries");
    if (await this.#kept.finish()) this.#isWritten = true;
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
