import { check, defineOptions, invalid, isJsonObject, type SessionMessage } from "@stemma/model";
import {
  assertSession,
  coreOf,
  isUnderWay,
  PREPARE_TURN,
  type PrepareTurnOptions,
  type RecallOptions,
  type Session,
  type SessionTool,
  type SessionTools,
} from "@stemma/session";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  type ModelMessage,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { type ProviderName, providerName } from "../lint/known-providers.js";
import { repairInPieces } from "../lint/lint.js";
import { modelMessages } from "../message/model-messages.js";
import { replayed, streamOf } from "../message/replay.js";
import { validMessages } from "../message/validate.js";
import { runSession } from "../run/hold.js";
import { type HeldRun, type RunLook, SessionRuns, type WhenBusy } from "../run/runs.js";
import { type PrepareStep, stepUpdates } from "../session-memory.js";
import { expectedAnswer, type PlacedAnswer, placeFound, placeSubmission } from "./place-submission.js";
import { type RenamedCalls, readSubmission, renamedCalls, type Submission } from "./submission.js";
import { findTarget, repeatedQuestion, type Target } from "./target.js";

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

/** A submission that could be placed, and what was read of the session for that. */
interface Accepted {
  readonly submission: Submission;
  readonly target: Target;
  readonly seen: RunLook;
}

/**
 * Reads what is stored of a submission, and writes nothing. Errors: those of `findTarget`, for what could not be placed.
 */
export async function accept(session: Session, given: Submission): Promise<Accepted> {
  const submission = asStored(session, given);
  // First the run: where it is the same later, nobody placed anything since.
  const [seen, target] = await Promise.all([new SessionRuns(session).look(), findTarget(session, submission)]);
  return { submission, target, seen };
}

/**
 * Places what was accepted, and gives what the model is asked; or the response, where there is nothing to ask. `registered` settles
 * once the session is there.
 */
export async function receiveSubmission(
  session: Session,
  { submission, target: found, seen }: Accepted,
  options: ReceiveOptions,
  signal: AbortSignal,
  registered?: Promise<unknown>,
): Promise<Received> {
  const { tools = {}, whenBusy = "queue", lease = DEFAULT_LEASE, cacheTtl, recall, model } = options;
  const runs = new SessionRuns(session);
  const repeated = repeatedQuestion(found);
  if (repeated !== null && seen.known !== null && isUnderWay(seen.known.state)) {
    await registered;
    const running = await runs.stream(repeated);
    if (running !== null) return { response: responseOf(running), ask: null };
  }
  const answerId = crypto.randomUUID();
  const state = { runId: crypto.randomUUID(), ...expectedAnswer(found, answerId) };
  const early = found.kind === "results" ? session.tools() : undefined;
  const claiming = runs.claim(state, { lease, whenBusy, signal, seen });
  const [ready, claim] = await Promise.allSettled([registered, claiming, early]);
  if (claim.status === "rejected") throw ready.status === "rejected" ? ready.reason : claim.reason;
  const held = claim.value;
  try {
    if (ready.status === "rejected") throw ready.reason;
    const own = runSession(session, held.keeper.write);
    const toolsOf = async () => ({ ...((await (early ?? session.tools())) as ToolSet), ...tools });
    // Where no other run was there since, a new question is still one, unless the store says that somebody else wrote.
    const isFound = held.isAsSeen && coreOf(session).store !== null;
    const placed =
      (isFound ? await placeFound(own, found, answerId) : null) ??
      (await placeSubmission(own, await findTarget(own, submission), answerId, toolsOf));
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

/** Settings of `streamText` for the request of a model. */
export interface ModelRequest {
  /** The frozen prompt; missing when the session has no blocks. */
  readonly system?: string;
  readonly messages: ModelMessage[];
  /** The session's tools, and those that were given. */
  readonly tools: ToolSet;
  /** Tells the model before each further step what others changed in the blocks meanwhile. */
  readonly prepareStep: PrepareStep;
  /** Aborted when the answer is stopped. */
  readonly abortSignal: AbortSignal;
}

interface ModelRequestOptions extends Pick<PrepareTurnOptions, "cacheTtl" | "recall"> {
  readonly tools: ToolSet;
  /** Undefined has the rules of OpenAI-compatible servers, which are the strictest. */
  readonly model: ProviderName | undefined;
  /** Fails once the answer is another process's, or its chat is deleted: then the session's tools run no more. */
  readonly assertHeld: () => Promise<void>;
}

/** The request for the active leaf; `base` stands in the place of its last message, which it goes on from. */
async function modelRequest(
  session: Session,
  base: UIMessage | null,
  { tools: own, model = "openai-compatible", assertHeld, ...turn }: ModelRequestOptions,
): Promise<Omit<ModelRequest, "abortSignal"> & { readonly renamed: RenamedCalls }> {
  const { system, messages, tools, update } = await session.prepareTurn<UIMessage>({
    ...turn,
    tools: own,
    onCorrupt: "skip",
  });
  const shown = base === null ? messages : [...messages.slice(0, -1), base];
  const all: ToolSet = { ...whileHeld(tools as SessionTools, assertHeld), ...own };
  const mend = (given: UIMessage[]) =>
    repairInPieces(given as SessionMessage[], model, { tools: all }) as Promise<UIMessage[]>;
  // First what other formats left becomes parts of the AI SDK; then nothing lacks what was no part.
  const accepted = await mend(await validMessages(await mend(shown)));
  return {
    ...(system === "" ? {} : { system }),
    messages: await modelMessages(convertToModelMessages, accepted, { tools: all }),
    tools: all,
    prepareStep: stepUpdates(update, model),
    renamed: renamedCalls(base, accepted.at(-1)),
  };
}

// They write what outlives the chat, such as the memory of its user.
function whileHeld(tools: SessionTools, assertHeld: () => Promise<void>): SessionTools {
  const guarded = Object.entries(tools).map(([name, tool]): [string, SessionTool] => {
    const execute: SessionTool["execute"] = async (input, options) => {
      await assertHeld();
      return tool.execute(input, options);
    };
    return [name, { ...tool, execute }];
  });
  return Object.fromEntries(guarded);
}

/** An answer that is to be made, from `receive` to `respond`. */
export interface Turn extends HeldRun {
  readonly runs: SessionRuns;
  readonly placed: PlacedAnswer;
  readonly renamed: RenamedCalls;
}

// A session answers once at a time, so it says which turn is meant.
const turns = new WeakMap<Session, Turn>();

function openTurn(session: Session, turn: Turn): void {
  turns.set(session, turn);
}

/** Lets go of a turn for which no answer could be begun. */
export async function dropTurn(session: Session): Promise<void> {
  const turn = takeTurn(session);
  await turn.runs.release(turn, "failed");
}

/** Errors: `INVALID_ARGUMENT` when `receive` gave nothing to answer. */
export function takeTurn(session: Session): Turn {
  const turn = turns.get(session);
  turns.delete(session);
  if (turn !== undefined) return turn;
  const message = "Call receive(session, request) before respond(session, result), once for each answer.";
  throw invalid(message, { sessionId: session.id });
}
