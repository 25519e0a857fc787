import { modelMessages, repairInPieces } from "@stemma/chat";
import {
  check,
  defineOptions,
  isInterrupted,
  isSettled,
  isToolPart,
  type SessionMessage,
  StemmaError,
  settleToolCalls,
} from "@stemma/model";
import { coreOf, type PreparedTurn, type Session } from "@stemma/session";
import { type Outcome, observedValues } from "@stemma/store";
import type { ModelMessage, UIMessage } from "ai";
import { ActiveBranch } from "./active-branch.js";
import type { TurnLog, TurnOptions } from "./create-options.js";
import { type AgentInput, parseInput, toSDKMessages } from "./messages/sdk-message.js";
import { agentUsage, loadAiSdk, type ModelObject, type ModelSource } from "./models/model.js";
import type { SessionRecord } from "./session-record.js";
import type { AgentTools } from "./tools/agent-tools.js";
import { runTurn } from "./turn.js";
import type { AgentEvent, ContentBlock, ExtendedUsageInfo, SDKMessage, SessionState } from "./types.js";

interface AgentSessionOptions extends Pick<TurnOptions, "tools" | "approve" | "maxTurns" | "prices" | "settings"> {
  /** Null: the session can be read and written, but not asked. */
  readonly model: ModelSource | null;
  readonly systemPrompt: string | undefined;
  readonly abortSignal: AbortSignal | undefined;
  /** Gives back what the storage holds of an open session. Called once. */
  readonly release: () => Promise<void>;
}

export interface ReceiveOptions {
  /** Ends the turn: what was finished is stored, and the last event is a `stop` with `aborted`. */
  abortSignal?: AbortSignal | undefined;
}

const RECEIVE = defineOptions<ReceiveOptions>({ abortSignal: check.signal });

/**
 * A session that calls a model and stores every step: a message before the model is called, a tool call before its tool
 * runs, a step when it is finished. Make one with `createSession`.
 */
export class AgentSession implements AsyncDisposable {
  readonly id: string;
  /** The session's history: branches, compaction, search, memory blocks. */
  readonly session: Session;
  readonly #record: SessionRecord;
  readonly #options: AgentSessionOptions;
  readonly #branch: ActiveBranch;
  /** The sends that are under way, one after the other. Never rejects. */
  #sends: Promise<void> = Promise.resolve();
  #turn: { readonly events: AsyncGenerator<AgentEvent, void, undefined>; readonly abort: AbortController } | null =
    null;
  #closed = false;

  private constructor(session: Session, record: SessionRecord, options: AgentSessionOptions) {
    this.id = session.id;
    this.session = session;
    this.#record = record;
    this.#options = options;
    this.#branch = new ActiveBranch(session);
  }

  /** Reads the conversation. `createSession` and `resumeSession` call this. Errors: those of the storage. */
  static async open(session: Session, record: SessionRecord, options: AgentSessionOptions): Promise<AgentSession> {
    const opened = new AgentSession(session, record, options);
    await opened.#branch.refresh();
    return opened;
  }

  /** A snapshot, as of the last `send` or step. */
  get state(): SessionState {
    return this.#record.stateWith(this.getMessages());
  }

  /** The conversation on the active branch, whole, as of the last `send` or step. */
  getMessages(): SDKMessage[] {
    return toSDKMessages(this.#branch.messages);
  }

  /** The sum over all turns and summaries, also of earlier processes. */
  getUsage(): ExtendedUsageInfo {
    return this.#record.usage;
  }

  /**
   * True when the last turn was not finished: it was aborted, it failed, the process died during it, or it has not begun.
   * The history is still valid. Errors: those of the storage.
   */
  async isInterrupted(): Promise<boolean> {
    await this.#branch.refresh();
    const { last } = this.#branch;
    return last !== undefined && (awaitsModel(last) || settleToolCalls(last) !== last);
  }

  /**
   * Stores a message of the user; `receive` then calls the model. `tool_result` blocks are results for the tool calls that wait
   * for one; if there is nothing else, no message is added. Calls without a result are marked as interrupted. A message with
   * a known id changes nothing, so you can repeat a send.
   * Errors: `SESSION_CLOSED`, `SESSION_BUSY`, `INVALID_ARGUMENT`, `INVALID_MESSAGE`, and those of the storage.
   * @example
   * await agent.send("What is the weather in Bern?");
   * await agent.send([{ type: "tool_result", tool_use_id: "call-1", content: "Sunny" }]);
   */
  async send(input: AgentInput): Promise<void> {
    this.#assertIdle();
    const { message, results } = parseInput(input);
    const sent = this.#sends.then(async () => {
      const branch = this.#branch;
      await branch.refresh();
      await branch.answer(results);
      if (message !== null) {
        await branch.settle();
        await branch.append(message);
      }
      this.#record.touch();
    });
    this.#sends = sent.catch(() => {});
    return sent;
  }

  /**
   * Runs one turn: calls the model and the tools that it asks for, until it is done. Leaving the loop aborts the turn. If the
   * model or the request to it fails, there is an `error` event; if the storage fails, its error is thrown. After a turn that
   * was cut off, the model is called again, also without a new message.
   * Errors: `SESSION_CLOSED`, `SESSION_BUSY`, `NOTHING_TO_ANSWER`, `MODEL_UNAVAILABLE`, and those of the storage.
   * @example
   * for await (const event of agent.receive()) {
   *   if (event.type === "text") process.stdout.write(event.text);
   *   if (event.type === "error") throw event.error;
   * }
   */
  async *receive(options: ReceiveOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    RECEIVE.assert(options, "receive()");
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

  /**
   * Aborts a running turn and waits until everything is stored. May be called twice. The storage stays open. Errors: those of the storage.
   * @example
   * await agent.close();
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#turn?.abort.abort();
    try {
      await this.#turn?.events.return();
      await this.#sends;
      this.#branch.release();
      await this.session.close();
      await this.#record.refresh();
    } catch (error) {
      // A host may close its store first: everything is stored.
      if (!StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
    } finally {
      await this.#options.release();
    }
  }

  /** `close`, for `await using`. Errors: as there. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *#runTurn(signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    const { model: source, tools, systemPrompt = "", ...options } = this.#options;
    if (source === null) {
      const message = "This session has no model: pass one to createSession({ model }).";
      throw new StemmaError("MODEL_UNAVAILABLE", { sessionId: this.id }, message);
    }
    const model = await source();
    const branch = this.#branch;
    await this.#sends;
    await branch.refresh();
    await branch.settle();
    if (branch.last === undefined || !awaitsModel(branch.last)) {
      const message = "There is nothing to answer: call send() first.";
      throw new StemmaError("NOTHING_TO_ANSWER", { sessionId: this.id }, message);
    }
    yield* agentTurn(this.session, this.#record, branch, { ...options, model, tools, systemPrompt, signal });
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

/** True when the model has the next word: after the user's, after results that it has not seen, when it was cut off. */
function awaitsModel(last: SessionMessage): boolean {
  if (last.role !== "assistant" || isInterrupted(last)) return true;
  const part = last.parts.at(-1);
  return part !== undefined && isToolPart(part) && isSettled(part);
}

type AgentEvents = AsyncGenerator<AgentEvent, void, undefined>;

interface AgentTurnOptions extends Omit<TurnOptions, "store" | "sessionId"> {
  readonly systemPrompt: string;
}

/** A turn of a session, which asks with what `prepareTurn` gives and writes to the active branch. */
async function* agentTurn(
  session: Session,
  record: SessionRecord,
  branch: ActiveBranch,
  { systemPrompt, ...options }: AgentTurnOptions,
): AgentEvents {
  const { store } = coreOf(session);
  const { model } = options;
  const tools = { ...(await session.tools()), ...options.tools };
  let turn: PreparedTurn | null = null;
  const log: TurnLog = {
    request: async () => {
      branch.read();
      turn = await session.prepareTurn({ tools: options.tools });
      const { system, messages } = turn;
      const texts = [systemPrompt, system].filter((text) => text !== "");
      return { system: texts.join("\n\n"), messages: await requestOf(messages, tools, model) };
    },
    rewritten: () => branch.compacted,
    update: async () => turn?.update() ?? null,
    write: async (message) => {
      await branch.put(message);
      record.touch();
    },
    addUsage: (usage, answered) => record.addUsage(usage, answered),
  };
  const events = runTurn(log, { ...options, tools, store, sessionId: session.id });
  yield* observedTurn(session, { name: record.source, model: model.modelId }, events);
}

// Of a turn the store's observer is told, where there is one.
function observedTurn(
  session: Session,
  agent: { name: string | undefined; model: string },
  events: AgentEvents,
): AgentEvents {
  const { store } = coreOf(session);
  if (store?.observer === undefined) return events;
  let outcome: Outcome = { result: undefined };
  async function* noting(): AgentEvents {
    for await (const event of events) {
      if (event.type === "error") outcome = { failure: event.error };
      else if (event.type === "stop" && "result" in outcome) outcome = { result: agentUsage(event.usage) };
      yield event;
    }
  }
  const observed = { type: "agent", name: "invokeAgent", sessionId: session.id, agent } as const;
  return observedValues(store, observed, noting(), () => outcome);
}

/**
 * The history as a model is to see it: nothing in it that its provider refuses, whatever an aborted turn, an import or
 * another provider's model has left there.
 */
async function requestOf(
  history: readonly SessionMessage[],
  tools: AgentTools,
  model: ModelObject,
): Promise<ModelMessage[]> {
  const { convertToModelMessages } = await loadAiSdk();
  const shown = history.map((message, index) => withoutTail(message, history[index + 1]));
  const known = withBlockOutputs(tools);
  const accepted = await repairInPieces(shown, model, { tools: known });
  return modelMessages(convertToModelMessages, accepted as UIMessage[], { tools: known as never });
}

function withoutTail(message: SessionMessage, next: SessionMessage | undefined): SessionMessage {
  if (!isInterrupted(message) || next?.role === "user") return message;
  return { ...message, parts: message.parts.slice(0, message.parts.findLastIndex(isToolPart) + 1) };
}

/** Tools that the host answers: a result in blocks is shown as its texts and images. Others say themselves how. */
function withBlockOutputs(tools: AgentTools): Record<string, object> {
  const answered = Object.entries(tools).map(([name, tool]) =>
    tool.execute === undefined ? ([name, { toModelOutput, ...tool }] as const) : ([name, tool] as const),
  );
  return Object.fromEntries(answered);
}

function toModelOutput({ output }: { output: unknown }): object {
  if (typeof output === "string") return { type: "text", value: output };
  if (Array.isArray(output) && output.length > 0 && output.every(isTextOrImage)) {
    return { type: "content", value: output.map(contentOf) };
  }
  return { type: "json", value: output };
}

type TextOrImage = Extract<ContentBlock, { type: "text" | "image" }>;

function isTextOrImage(block: unknown): block is TextOrImage {
  const { type } = (block ?? {}) as { type?: unknown };
  return type === "text" || type === "image";
}

function contentOf(block: TextOrImage): object {
  if (block.type === "text") return { type: "text", text: block.text };
  const { source } = block;
  if (source.type === "url") return { type: "image-url", url: source.url };
  return { type: "image-data", data: source.data, mediaType: source.media_type };
}
