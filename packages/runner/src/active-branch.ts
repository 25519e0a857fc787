import type { SessionMessage } from "@stemma/model";
import {
  answeredNow,
  givenMessage,
  invalid,
  isSettled,
  isToolPart,
  type SettledFields,
  StemmaError,
  sameJson,
  settleToolCalls,
} from "@stemma/model";
import { coreOf, type Session } from "@stemma/session";

/** The stored messages of a session's active branch, in step with the store. */
export class ActiveBranch {
  #messages: SessionMessage[] = [];
  /** Set when the session was changed by other hands than this object's. */
  #stale = true;
  #writing: string | null = null;
  #compacted = false;
  /** Ends the watch over what others do to the session. */
  readonly release: () => void;

  constructor(private readonly session: Session) {
    this.release = coreOf(session).events.watch((event) => {
      if (event.type !== "messages") return;
      if (event.change === "compaction") this.#compacted = true;
      else if (event.ids.length !== 1 || event.ids[0] !== this.#writing) this.#stale = true;
    });
  }

  /** As of the last refresh or write. */
  get messages(): readonly SessionMessage[] {
    return this.#messages;
  }

  get last(): SessionMessage | undefined {
    return this.#messages.at(-1);
  }

  /** True when a compaction has laid a summary over the history since it was last read for a request. */
  get compacted(): boolean {
    return this.#compacted;
  }

  /** The history is read for a request now. */
  read(): void {
    this.#compacted = false;
  }

  /** Reads the branch again if others wrote to it, in this process or in another. */
  async refresh(): Promise<void> {
    if (!this.#stale && (await this.session.getLatestLeaf())?.id === this.last?.id) return;
    this.#stale = false;
    this.#messages = await this.session.getHistory(undefined, { summaries: false });
  }

  /** Stores a message at the end. One whose id is known already changes nothing. */
  async append(message: SessionMessage): Promise<void> {
    await this.#write(message, async () => {
      const { inserted } = await this.session.appendMessage(message);
      if (inserted) this.#messages.push(message);
      else this.#stale = true;
    });
  }

  /**
   * Stores a message in place of the last one's earlier form, else at the end. Errors: `SESSION_CONFLICT` where that form is no
   * longer what is stored.
   */
  async put(message: SessionMessage): Promise<void> {
    try {
      await this.#replaceLast(message);
    } catch (error) {
      if (!StemmaError.isInstance(error, "MESSAGE_CHANGED")) throw error;
      const text = `Another program wrote to message "${message.id}" of this session meanwhile; nothing was overwritten.`;
      const details = { sessionId: this.session.id, messageId: message.id };
      throw new StemmaError("SESSION_CONFLICT", details, text, { cause: error });
    }
  }

  /** Gives their results to calls of the last message, all in one write. Errors: `INVALID_ARGUMENT`; then none is stored. */
  async answer(results: ReadonlyMap<string, SettledFields>): Promise<void> {
    if (results.size > 0) await this.#untilWritten(() => this.#answer(results));
  }

  /** Marks calls that were cut off, by a crash or because the host sent something else than their results. */
  async settle(): Promise<void> {
    await this.#untilWritten(() => this.#settle());
  }

  async #answer(results: ReadonlyMap<string, SettledFields>): Promise<void> {
    const { last } = this;
    const waiting = new Set<string>();
    for (const part of last?.parts ?? []) if (isToolPart(part) && !isSettled(part)) waiting.add(part.toolCallId);
    for (const toolCallId of results.keys()) {
      if (waiting.has(toolCallId)) continue;
      const message = `No call "${toolCallId}" waits for a result: the last message has none, or it has its result already.`;
      throw invalid(message, { toolCallId });
    }
    const parts = (last?.parts ?? []).map((part) =>
      isToolPart(part) && !isSettled(part) ? { ...part, ...results.get(part.toolCallId) } : part,
    );
    await this.#replaceLast(answeredNow(last as SessionMessage, { ...(last as SessionMessage), parts }));
  }

  async #settle(): Promise<void> {
    const { last } = this;
    if (last === undefined) return;
    const settled = settleToolCalls(last);
    if (settled === last) return;
    const metadata = { ...(typeof last.metadata === "object" ? last.metadata : {}), interrupted: "killed" };
    await this.#replaceLast({ ...settled, metadata });
  }

  // What others wrote to the last message meanwhile is read first.
  async #untilWritten(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!StemmaError.isInstance(error, "MESSAGE_CHANGED")) throw error;
        await this.refresh();
      }
    }
  }

  // Errors: `MESSAGE_CHANGED`.
  async #replaceLast(message: SessionMessage): Promise<void> {
    const { last } = this;
    if (last?.id !== message.id) return this.append(message);
    if (sameJson(last, message)) return;
    await this.#write(message, async () => {
      const update = givenMessage(message);
      const { settled } = await coreOf(this.session).together([{ session: this.session.id, update, expected: last }]);
      this.#messages[this.#messages.length - 1] = message;
      await settled;
    });
  }

  async #write(message: SessionMessage, work: () => Promise<void>): Promise<void> {
    this.#writing = message.id;
    try {
      await work();
    } catch (error) {
      this.#stale = true;
      throw error;
    } finally {
      this.#writing = null;
    }
  }
}
