import { check, defineOptions, isJsonObject } from "@stemma/model";
import { assertSession, coreOf, PREPARE_TURN, type RecallOptions, type Session } from "@stemma/session";
import { createUIMessageStreamResponse, type ToolSet, type UIMessageChunk } from "ai";
import { type ProviderName, providerName } from "../lint/known-providers.js";
import { replayed, streamOf } from "../message/replay.js";
import { runSession } from "../run/hold.js";
import { SessionRuns, type WhenBusy } from "../run/runs.js";
import { openTurn } from "../turn.js";
import { type ModelRequest, modelRequest } from "./model-request.js";
import { placeSubmission } from "./place-submission.js";
import { readSubmission, type Submission } from "./submission.js";
import { repeatedQuestion } from "./target.js";
/** A request as it was understood. */
export type Received =
  /** There is nothing to ask a model: it was answered before, or is being answered. Return the response. */
  { readonly response: Response; readonly ask: null } | { readonly response: null; readonly ask: ModelRequest };

export const DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024;
const DEFAULT_LEASE = 10_000;

/**
 * Stores what `useChat` posts to a route of yours, and gives what to ask a model with; `respond(session, result)` sends the
 * answer and stores it. Errors: `REQUEST_TOO_LARGE`, `INVALID_ARGUMENT`, `INVALID_MESSAGE`, `MESSAGE_NOT_FOUND`,
 * `SESSION_BUSY`, `RUN_LOST`, and those of `session.appendMessage` and `session.prepareTurn`.
 */
export async function receive(session: Session, request: Request, options: ReceiveOptions = {}): Promise<Received> {
  assertSession(session, "receive()");
  RECEIVE.assert(options, "receive()");
  const submission = await readSubmission(request, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  return receiveSubmission(session, await accept(session, submission), options, request.signal);
}

export interface Accepted extends Submission {
  /** The stored question that it asks again; null for a new one. */
  readonly repeated: string | null;
}

/**
 * Reads what is stored of a submission, and writes nothing. Errors: those of `repeatedQuestion`, for what could not be placed.
 */
export async function accept(session: Session, submission: Submission): Promise<Accepted> {
  const stored = asStored(session, submission);
  return { ...stored, repeated: await repeatedQuestion(session, stored) };
}

/** Places what was accepted, and gives what the model is asked; or the response, where there is nothing to ask. */
export async function receiveSubmission(
  session: Session,
  submission: Accepted,
  options: ReceiveOptions,
  signal: AbortSignal,
): Promise<Received> {
  const { repeated } = submission;
  const { tools = {}, whenBusy = "queue", lease = DEFAULT_LEASE, cacheTtl, recall, model } = options;
  const runs = new SessionRuns(session);
  const running = repeated === null ? null : await runs.stream(repeated);
  if (running !== null) return { response: responseOf(running), ask: null };
  const state = { runId: crypto.randomUUID(), questionId: repeated, answerId: "", leafBefore: null };
  const held = await runs.claim(state, { lease, whenBusy, signal });
  try {
    const sessionTools = (await session.tools()) as ToolSet;
    const own = runSession(session, held.keeper.write);
    const placed = await placeSubmission(own, submission, { ...sessionTools, ...tools });
    if (placed.kind !== "answer") {
      await runs.release(held, "completed");
      const stream = placed.kind === "replay" ? replayed(placed.message) : nothing(placed.answerId);
      return { response: responseOf(stream), ask: null };
    }
    await held.keeper.update(placed);
    const assertHeld = () => held.keeper.assertHeld();
    const turn = { tools, cacheTtl, recall, model, assertHeld };
    const { renamed, ...asked } = await modelRequest(session, placed.base, turn);
    openTurn(session, { ...held, runs, placed, renamed });
    return { response: null, ask: { ...asked, abortSignal: held.run.signal } };
  } catch (error) {
    await runs.release(held, "failed");
    throw error;
  }
}

// What a client repeats is compared with what was stored of it.
function asStored(session: Session, submission: Submission): Submission {
  const redaction = coreOf(session).store?.redaction;
  if (redaction === undefined) return submission;
  return { ...submission, messages: submission.messages.map((message) => redaction.message(message, session.id)) };
}

export function responseOf(stream: ReadableStream<UIMessageChunk>): Response {
  return createUIMessageStreamResponse({ stream, headers: { "cache-control": "no-cache, no-transform" } });
}

function nothing(messageId: string): ReadableStream<UIMessageChunk> {
  return streamOf([{ type: "start", messageId }, { type: "finish" }]);
}

export interface ReceiveOptions {
  /**
   * The model that will be asked, or the name of its provider: what it refuses is mended, see `repair`. Default: what any
   * provider refuses.
   */
  model?: ProviderName | undefined;
  /** The tools that the model is given beside the session's. A client gives no outputs for those with `execute`. */
  tools?: ToolSet | undefined;
  /**
   * Says whether a request that comes while the session is being answered is to wait until that has ended (the default), or
   * fail with `SESSION_BUSY`. One that waits is not stored yet, and is dropped if its client leaves.
   */
  whenBusy?: WhenBusy | undefined;
  /** Default 16 MiB. */
  maxBodyBytes?: number | undefined;
  /** How long a run counts as alive after its process last said so, in milliseconds. Default 10,000. */
  lease?: number | undefined;
  /** How long the model's provider keeps the prefix of a request, in milliseconds. Default 300,000. */
  cacheTtl?: number | undefined;
  /** Quotes what the user's other chats say about the message. Default: nothing. */
  recall?: RecallOptions | undefined;
}

/** Checks of the limits that `receive` and `chatHandler` take. */
export const LIMITS = {
  whenBusy: check.oneOf("queue", "reject"),
  maxBodyBytes: check.positive("bytes"),
  lease: check.positive("milliseconds"),
  cacheTtl: PREPARE_TURN.checks.cacheTtl,
  recall: PREPARE_TURN.checks.recall,
};
const RECEIVE = defineOptions<ReceiveOptions>({
  ...LIMITS,
  model: providerName,
  tools: check.rule("an object of tools by their names", isJsonObject),
});
