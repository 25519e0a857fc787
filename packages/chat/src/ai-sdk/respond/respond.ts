import { check, defineOptions, StemmaError, ToolClock } from "@stemma/model";
import { assertSession, coreOf, type Session } from "@stemma/session";
import type { AgentUsage, Usage } from "@stemma/store";
import {
  createUIMessageStream,
  type LanguageModelUsage,
  type TextStreamPart,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { hasContent, type Interruption, marked, settled, tidied } from "../message/parts.js";
import { replay } from "../message/replay.js";
import { responseOf, type Turn, takeTurn } from "../receive/receive.js";
import { withStoredIds } from "../receive/submission.js";
import { type RunSession, runSession, type WriteRun } from "../run/hold.js";
import { leaveAtAnswer } from "../run/recover.js";

export interface RespondOptions {
  /** Keeps a request's work alive after its response, as `waitUntil` of a Worker's `ctx` does. */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Gives the text that the client is told of an error. Default: that one occurred, and nothing of it; of `RUN_LOST` its message. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only logs gives nothing.
  onError?: ((error: unknown) => string | void) | undefined;
  /** Gives the price of a step, in your currency: it is added to the session's `estimated_cost`. Default: nothing. */
  cost?: ((usage: LanguageModelUsage) => number) | undefined;
  /** Fields for the metadata of the answer, as for `toUIMessageStream`. */
  messageMetadata?: ((options: { part: TextStreamPart<ToolSet> }) => unknown) | undefined;
}

/** The part of the results of `streamText` and `agent.stream` that is read. */
export interface StreamResult {
  // biome-ignore lint/suspicious/noExplicitAny: the two majors of the AI SDK type their options differently.
  toUIMessageStream(options?: any): ReadableStream<any>;
}

/** The data of a part of type `data-run`, which tells a client of its run and is not stored: `onData` of `useChat` gets it. */
export interface RunData {
  /** The id that `POST /:id/stop` takes. */
  readonly runId: string;
  /** The message that holds the answer. */
  readonly messageId: string;
  /** The user's message that was edited: the id that the client gave it, and the one that it is stored under. */
  readonly edited: { readonly given: string; readonly stored: string } | null;
}

/** The usage of an answer, and the error that it ended with. */
export interface Ended {
  readonly usage: AgentUsage;
  readonly failure: Error | null;
}

const RESPOND = defineOptions<RespondOptions>({
  waitUntil: check.callable,
  onError: check.callable,
  cost: check.callable,
  messageMetadata: check.callable,
});

/**
 * Sends a model's answer to the client and stores it: each step when it finishes, the rest when the answer ends. It goes on
 * when the client leaves. `result` is of `streamText`, asked with what `receive` gave.
 * Errors: `INVALID_ARGUMENT`, also when `receive` gave nothing to answer.
 */
export function respond(session: Session, result: StreamResult, options: RespondOptions = {}): Response {
  assertSession(session, "respond()");
  RESPOND.assert(options, "respond()");
  return beginAnswer(session, result, options).response;
}

/** Begins an answer as `respond` does, and tells what became of it. */
export function beginAnswer(
  session: Session,
  result: StreamResult,
  options: RespondOptions,
): { readonly response: Response; readonly ended: Promise<Ended> } {
  const turn = takeTurn(session);
  const ended = new Answer(session, turn, options).make(result);
  options.waitUntil?.(ended);
  return { response: responseOf(turn.run.stream(turn.placed.clientHolds)), ended };
}

/** How long a model may take to end after its answer was stopped, in milliseconds. */
const GRACE = 2000;

class Answer {
  readonly #own: RunSession;
  readonly #usage: AnswerUsage;
  readonly #clock = new ToolClock();
  #latest: UIMessage | null = null;
  #finish: UIMessageChunk | null = null;
  #failure: Error | null = null;
  #aborted = false;
  /** Chunks that tell the client that the answer did not go well, in order. */
  readonly #endings: [Interruption, UIMessageChunk][] = [];
  /** Errors by the text that the client was told: of a tool too, which does not end the answer. */
  readonly #errors = new Map<string, Error | null>();

  constructor(
    private readonly session: Session,
    private readonly turn: Turn,
    private readonly options: RespondOptions,
  ) {
    this.#own = runSession(session, turn.keeper.write);
    this.#usage = new AnswerUsage(options.cost);
  }

  /** Never rejects: what fails is told to the client. */
  async make(result: StreamResult): Promise<Ended> {
    const { run, keeper, placed, runs } = this.turn;
    keeper.begin();
    const { answerId: messageId, edited } = placed;
    const data: RunData = { runId: run.id, messageId, edited };
    this.#push({ type: "data-run", data, transient: true });
    try {
      await this.#read(this.#chunks(result));
      await this.#end();
    } catch (error) {
      if (!run.isLost) this.#fail(this.#textOf(error));
    }
    // What a run that was lost, or a session that was deleted, used is not kept.
    if (!run.isLost) await this.#usage.add(this.session, keeper.write);
    // Whoever hears of it finds the chat as it is then.
    if (run.brokenOff === "lost") this.#tellOfLoss();
    else this.#tellOfEnd();
    await runs.release(this.turn, this.#status()).catch(() => {});
    await keeper.settled;
    return { usage: this.#usage.total, failure: this.#failure };
  }

  #chunks(result: StreamResult): ReadableStream<UIMessageChunk> {
    const { base, answerId } = this.turn.placed;
    return createUIMessageStream({
      originalMessages: base === null ? [] : [base],
      generateId: () => answerId,
      execute: ({ writer }) => {
        const onError = (error: unknown): string => this.#textOf(error);
        const messageMetadata = (step: { part: TextStreamPart<ToolSet> }): unknown => {
          this.#usage.see(step.part);
          return this.options.messageMetadata?.(step);
        };
        const settings = { sendReasoning: true, sendSources: true, onError, messageMetadata };
        const chunks = withStoredIds(result.toUIMessageStream(settings), this.turn.renamed);
        writer.merge(timed(chunks, this.#clock));
      },
      onError: (error) => this.#textOf(error),
      onStepFinish: async ({ responseMessage }) => {
        if (hasContent(responseMessage)) await this.#keep(responseMessage);
      },
      onFinish: ({ responseMessage }) => {
        this.#latest = responseMessage;
      },
    });
  }

  async #read(stream: ReadableStream<UIMessageChunk>): Promise<void> {
    const { run, placed } = this.turn;
    const reader = stream.getReader();
    const leave = (): void => void setTimeout(() => reader.cancel().catch(() => {}), GRACE);
    run.signal.addEventListener("abort", leave);
    if (run.signal.aborted) leave();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const chunk = read.value;
      if (chunk.type === "error") this.#fail(chunk.errorText);
      else if (chunk.type === "abort") this.#aborted = true;
      else if (chunk.type === "finish") this.#finishes(chunk);
      else this.#push(chunk);
      if (chunk.type === "start" && placed.base !== null)
        for (const part of replay(placed.base)) this.#push(part, true);
    }
    run.signal.removeEventListener("abort", leave);
    // A model that does not hear of a stop sends no such chunk.
    this.#aborted ||= run.brokenOff !== null;
    if (this.#aborted) this.#endings.push(["aborted", { type: "abort" }]);
  }

  // Other processes know that the answer is whole; the client hears of it once it is stored.
  #finishes(chunk: UIMessageChunk): void {
    this.#finish = chunk;
    this.turn.keeper.push(chunk);
  }

  async #end(): Promise<void> {
    const answer = this.#latest;
    if (answer !== null && hasContent(answer)) await this.#keep(this.#final(answer));
    else if (this.#failure === null && !this.#aborted) this.#fail("The model gave no answer.");
    await leaveAtAnswer(this.#own, this.turn.placed);
  }

  // A run that is lost keeps nothing; that is told at its end.
  async #keep(answer: UIMessage): Promise<void> {
    try {
      await this.#own.upsertMessage(this.#clock.on(answer), this.turn.placed.questionId);
    } catch (error) {
      if (!this.turn.run.isLost) throw error;
    }
  }

  #final(answer: UIMessage): UIMessage {
    if (this.#aborted) return marked(settled(tidied(answer)), "aborted");
    return this.#failure === null ? answer : marked(tidied(answer), "error");
  }

  #status(): "completed" | "stopped" | "failed" {
    if (this.#aborted) return "stopped";
    return this.#failure === null ? "completed" : "failed";
  }

  #fail(errorText: string): void {
    this.#failure ??= this.#errors.get(errorText) ?? new StemmaError("MODEL_FAILED", {}, errorText);
    this.#endings.push(["error", { type: "error", errorText }]);
  }

  // The answer is another process's now, so nothing is said of how it ended.
  #tellOfLoss(): void {
    const lost = this.turn.keeper.lost();
    this.#failure = lost;
    this.#push({ type: "error", errorText: this.#textOf(lost) });
  }

  #tellOfEnd(): void {
    if (this.#finish !== null) this.turn.run.push(this.#finish);
    for (const ending of this.#endings) this.#mark(...ending);
  }

  // The client's copy of the message is marked as the stored one is.
  #mark(interrupted: Interruption, chunk: UIMessageChunk): void {
    this.#push({ type: "message-metadata", messageMetadata: { interrupted } });
    this.#push(chunk);
  }

  #push(chunk: UIMessageChunk, isBase = false): void {
    this.turn.run.push(chunk, isBase);
    this.turn.keeper.push(chunk);
  }

  #textOf(error: unknown): string {
    // The AI SDK reports once more, as an error of its own, what it was given the text of.
    if (error instanceof Error && this.#errors.has(error.message)) return error.message;
    const text = this.options.onError?.(error) || publicText(error);
    this.#errors.set(text, error instanceof Error ? error : null);
    return text;
  }
}

// Of what failed nothing is told, except that the answer is to be had elsewhere.
function publicText(error: unknown): string {
  return StemmaError.isInstance(error, "RUN_LOST") ? error.message : "An error occurred.";
}

/** The chunks as they are; the clock is told of each call and of each result. */
function timed(chunks: ReadableStream<UIMessageChunk>, clock: ToolClock): ReadableStream<UIMessageChunk> {
  const watch = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      if (chunk.type === "tool-input-available") clock.called(chunk.toolCallId);
      else if (isResult(chunk)) clock.answered(chunk.toolCallId);
      controller.enqueue(chunk);
    },
  });
  return chunks.pipeThrough(watch);
}

function isResult(chunk: UIMessageChunk): chunk is UIMessageChunk & { readonly toolCallId: string } {
  if (chunk.type === "tool-output-available") return chunk.preliminary !== true;
  return chunk.type === "tool-output-error" || chunk.type === "tool-output-denied";
}

class AnswerUsage {
  readonly #steps: (Usage & { readonly model: string })[] = [];

  constructor(private readonly costOf: ((usage: LanguageModelUsage) => number) | undefined) {}

  see(part: TextStreamPart<ToolSet>): void {
    if (part.type !== "finish-step") return;
    const { inputTokens = 0, outputTokens = 0 } = part.usage;
    if (inputTokens + outputTokens === 0) return;
    const cost = this.costOf?.(part.usage) ?? 0;
    this.#steps.push({ inputTokens, outputTokens, cost, model: part.response.modelId });
  }

  get total(): AgentUsage {
    const sumOf = (tokens: (step: Usage) => number) => this.#steps.reduce((sum, step) => sum + tokens(step), 0);
    return { inputTokens: sumOf((step) => step.inputTokens), outputTokens: sumOf((step) => step.outputTokens) };
  }

  /** Counts it for a session of a store, unless that is gone or the run is lost. */
  async add(session: Session, write: WriteRun): Promise<void> {
    if (coreOf(session).store === null || this.#steps.length === 0) return;
    try {
      await write(this.#steps.map(({ model, ...usage }) => ({ registered: session.id, usage, model })));
    } catch {
      // The answer is stored all the same.
    }
  }
}
