import type { ModelMessage, UIMessage } from "ai";
import { StemmaError } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import type { Session } from "../session/session.js";
import type { AgentTools, Approve } from "./agent-tools.js";
import { type AgentInput, parseInput } from "./input.js";
import type { ModelObject } from "./model.js";
import { readBranch } from "./read-branch.js";
import { toSDKMessages } from "./sdk-message.js";
import type { SessionRecord } from "./session-record.js";
import { isSettled, isToolPart, settleToolCalls } from "./tool-part.js";
import { type CallSettings, runTurn, type TurnLog } from "./turn.js";
import type { AgentEvent, ExtendedUsageInfo, ModelPrices, SDKMessage, SessionState } from "./types.js";

export interface AgentSessionOptions {
  /** Null: the session can be read and written, but not asked. */
  readonly model: ModelObject | null;
  readonly tools: AgentTools;
  readonly systemPrompt: string | undefined;
  readonly approve: Approve | undefined;
  readonly maxTurns: number;
  readonly prices: ModelPrices | undefined;
  readonly settings: CallSettings;
  readonly abortSignal: AbortSignal | undefined;
}

export interface ReceiveOptions {
  /** Ends the turn: what was finished is stored, and the last event is a `stop` with `aborted`. */
  abortSignal?: AbortSignal | undefined;
}

/**
 * A session that talks to a model and persists itself: a message is stored before the model is asked, a tool call before
 * its tool runs, a step when it is finished. Make one with `createSession`.
 */
export class AgentSession implements AsyncDisposable {
  readonly id: string;
  /** The session's history: branches, compaction, search, memory blocks. */
  readonly session: Session;
  readonly #record: SessionRecord;
  readonly #options: AgentSessionOptions;
  readonly #unsubscribe: () => void;
  /** The stored messages of the active branch. */
  #messages: SessionMessage[] = [];
  /** Set when the session was changed by other hands than this object's. */
  #stale = true;
  #writing: string | null = null;
  #compacted = false;
  #turn: { readonly events: AsyncGenerator<AgentEvent, void, undefined>; readonly abort: AbortController } | null =
    null;
  #closed = false;

  private constructor(session: Session, record: SessionRecord, options: AgentSessionOptions) {
    this.id = session.id;
    this.session = session;
    this.#record = record;
    this.#options = options;
    this.#unsubscribe = session.subscribe((event) => {
      if (event.type !== "messages") return;
      if (event.change === "compaction") this.#compacted = true;
      else if (event.ids.length !== 1 || event.ids[0] !== this.#writing) this.#stale = true;
    });
  }

  static async open(session: Session, record: SessionRecord, options: AgentSessionOptions): Promise<AgentSession> {
    const opened = new AgentSession(session, record, options);
    await opened.#refresh();
    return opened;
  }

  /** A snapshot, as of the last `send` or step. */
  get state(): SessionState {
    const { usage, metadata, createdAt, updatedAt, parentId } = this.#record;
    const state = { id: this.id, messages: this.getMessages(), usage, metadata: { ...metadata }, createdAt, updatedAt };
    return parentId === null ? state : { ...state, parentId };
  }

  /** The conversation on the active branch, whole, as of the last `send` or step. */
  getMessages(): SDKMessage[] {
    return toSDKMessages(this.#messages);
  }

  /** The sum over all turns, of earlier processes too. */
  getUsage(): ExtendedUsageInfo {
    return this.#record.usage;
  }

  /**
   * True when the last turn did not come to its end: it was aborted, it failed, the process died in it, or it has not
   * begun. The history is valid nevertheless.
   */
  async isInterrupted(): Promise<boolean> {
    await this.#refresh();
    const last = this.#messages.at(-1);
    if (last === undefined) return false;
    const { interrupted } = (last.metadata ?? {}) as { interrupted?: unknown };
    return interrupted !== undefined || awaitsModel(last) || settleToolCalls(last) !== last;
  }

  /**
   * Stores a message of the user; `receive` asks the model. `tool_result` blocks answer the calls that wait for one; with
   * nothing beside them there is no new message. Calls left without a result are marked as interrupted.
   * Errors: `SESSION_CLOSED`, `SESSION_BUSY`, `INVALID_ARGUMENT`, `INVALID_MESSAGE`.
   */
  async send(input: AgentInput): Promise<void> {
    this.#assertIdle();
    const { message, results } = parseInput(input);
    await this.#refresh();
    for (const [toolCallId, result] of results) await this.#answer(toolCallId, result);
    if (message === null) return;
    await this.#settle();
    await this.#write(message);
  }

  /**
   * One turn: asks the model, runs the tools that it calls, until it is done. Leaving the loop aborts the turn. What fails
   * in the model or on the way to it is an `error` event; what fails in the storage is thrown.
   * Errors: `SESSION_CLOSED`, `SESSION_BUSY`, `NOTHING_TO_ANSWER`, `MODEL_UNAVAILABLE`.
   */
  async *receive(options: ReceiveOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    this.#assertIdle();
    const abort = new AbortController();
    const signals = [abort.signal, options.abortSignal, this.#options.abortSignal].filter(
      (signal) => signal !== undefined,
    );
    const events = this.#runTurn(AbortSignal.any(signals));
    this.#turn = { events, abort };
    try {
      yield* events;
    } finally {
      abort.abort();
      this.#turn = null;
    }
  }

  /** Aborts a turn that is under way, and waits until all is stored. Idempotent; the storage stays open. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#turn?.abort.abort();
    await this.#turn?.events.return();
    this.#unsubscribe();
    await this.#record.refresh().catch((error: unknown) => {
      // A host may close its store first: everything is stored.
      if (!StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *#runTurn(signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    const { model, tools, systemPrompt = "", ...options } = this.#options;
    if (model === null) {
      const message = "This session has no model: pass one to createSession({ model }).";
      throw new StemmaError("MODEL_UNAVAILABLE", { sessionId: this.id }, message);
    }
    await this.#refresh();
    await this.#settle();
    if (!awaitsModel(this.#messages.at(-1))) {
      throw new StemmaError(
        "NOTHING_TO_ANSWER",
        { sessionId: this.id },
        "There is nothing to answer: call send() first.",
      );
    }
    const all = { ...(await this.session.tools()), ...tools };
    const system = [systemPrompt, await this.session.freezeSystemPrompt()].filter((text) => text !== "").join("\n\n");
    const log: TurnLog = {
      request: () => this.#request(all),
      rewritten: () => this.#compacted,
      write: (message) => this.#write(message),
      addUsage: (usage) => this.#record.addUsage(usage),
    };
    yield* runTurn(log, { ...options, model, tools: all, system, signal });
  }

  async #request(tools: AgentTools): Promise<ModelMessage[]> {
    const { convertToModelMessages } = await import("ai");
    this.#compacted = false;
    const history = (await this.session.getHistory()).filter(({ role }) => ROLES.has(role)).map(settleToolCalls);
    // Tools shape how their stored outputs are shown to the model.
    const converted = await convertToModelMessages(history as UIMessage[], { tools: tools as never });
    const messages = converted.filter((message) => message.content.length > 0);
    const reminder = await this.session.reminder();
    return reminder === null ? messages : withReminder(messages, reminder);
  }

  async #refresh(): Promise<void> {
    if (!this.#stale) {
      // Another process may have gone on with the session.
      const leaf = await this.session.getLatestLeaf();
      if (leaf?.id === this.#messages.at(-1)?.id) return;
    }
    this.#stale = false;
    this.#messages = await readBranch(this.session);
  }

  async #write(message: SessionMessage): Promise<void> {
    this.#writing = message.id;
    try {
      // Only the last message is ever written again.
      if (this.#messages.at(-1)?.id === message.id) {
        await this.session.updateMessage(message);
        this.#messages.pop();
      } else {
        await this.session.appendMessage(message);
      }
      this.#messages.push(message);
    } finally {
      this.#writing = null;
    }
    this.#record.touch();
  }

  // Marks calls that were cut off, by a crash or because the host sent something else than their results.
  async #settle(): Promise<void> {
    const last = this.#messages.at(-1);
    if (last === undefined) return;
    const settled = settleToolCalls(last);
    if (settled !== last) await this.#write({ ...settled, metadata: interruptedMetadata(settled.metadata) });
  }

  async #answer(toolCallId: string, result: Record<string, unknown>): Promise<void> {
    const last = this.#messages.at(-1);
    const waits = last?.parts.some((part) => isToolPart(part) && part.toolCallId === toolCallId && !isSettled(part));
    if (last === undefined || !waits) {
      const message = `No call "${toolCallId}" waits for a result: the last message has none, or it has its result already.`;
      throw new StemmaError("INVALID_ARGUMENT", { toolCallId }, message);
    }
    const parts = last.parts.map((part) =>
      isToolPart(part) && part.toolCallId === toolCallId ? { ...part, ...result } : part,
    );
    await this.#write({ ...last, parts });
  }

  #assertIdle(): void {
    if (this.#closed)
      throw new StemmaError("SESSION_CLOSED", { sessionId: this.id }, "This session was closed; resume it.");
    if (this.#turn !== null) {
      const message = "The session is answering: finish that receive(), or abort it, first.";
      throw new StemmaError("SESSION_BUSY", { sessionId: this.id }, message);
    }
  }
}

/** What a model can be shown; imported sessions may have messages of other roles. */
const ROLES: ReadonlySet<string> = new Set(["system", "user", "assistant"]);

/** True when the model has the next word: after the user's, or after results that it has not seen. */
function awaitsModel(last: SessionMessage | undefined): boolean {
  if (last === undefined) return false;
  if (last.role !== "assistant") return true;
  const part = last.parts.at(-1);
  return part !== undefined && isToolPart(part) && isSettled(part);
}

function interruptedMetadata(metadata: unknown): Record<string, unknown> {
  return { ...(typeof metadata === "object" ? metadata : {}), interrupted: "killed" };
}

function withReminder(messages: ModelMessage[], reminder: string): ModelMessage[] {
  const index = messages.findLastIndex(({ role }) => role === "user");
  return messages.map((message, position) => {
    if (position !== index || message.role !== "user") return message;
    const content =
      typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content;
    return { ...message, content: [...content, { type: "text" as const, text: reminder }] };
  });
}
