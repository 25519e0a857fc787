import { check, defineOptions, invalid } from "@stemma/model";
import {
  hasMethod,
  otherCopy,
  PREPARE_TURN,
  type PrepareTurnOptions,
  type RecallOptions,
  SessionManager,
} from "@stemma/session";
import { assertSessionFits, assertSessionId, assertUserId, kindOfHost } from "@stemma/store";
import type { LanguageModelMiddleware } from "ai";
import { RememberedSession } from "./remembered-session.js";
import type { RememberedStep } from "./remembered-step.js";
import { markedUrls } from "./remembering-models.js";
import type { CallParams, Generated, StreamPart } from "./sdk-types.js";

export interface StemmaMiddlewareOptions extends Pick<PrepareTurnOptions, "cacheTtl"> {
  /** The manager of the session, with its blocks. */
  sessions: SessionManager;
  /** The session that the model's calls go on with. It is made by the first one. */
  sessionId: string;
  /** The user whose session it is. Default: the user of the manager, or nobody. */
  userId?: string | undefined;
  /** Quotes what the user's other chats say about a message; false: does not. Default: quotes at most 1,000 tokens, where there is a user. */
  recall?: RecallOptions | false | undefined;
  /** Gets each error of storing an answer. The answer is given all the same. */
  onError?: ((error: unknown) => void) | undefined;
}

const OPTIONS = defineOptions<StemmaMiddlewareOptions>({
  sessions: check.required((sessions: unknown) => {
    if (sessions instanceof SessionManager) return;
    if (hasMethod(sessions, "getSession")) throw otherCopy("stemmaMiddleware()", "SessionManager");
    const got = kindOfHost(sessions);
    throw invalid(`sessions must be a SessionManager, as SessionManager.create(store) gives it; got ${got}.`);
  }),
  sessionId: check.required(assertSessionId),
  userId: assertUserId,
  cacheTtl: PREPARE_TURN.checks.cacheTtl,
  recall: (recall, name) => (recall === false ? undefined : PREPARE_TURN.checks.recall(recall, name)),
  onError: check.callable,
});

/**
 * A middleware of the AI SDK that gives a model the memory of a session. Before each call it stores the user's message, and puts
 * the frozen prompt, the stored history and what the user's other chats say in the place of the messages before. After the call
 * it stores the answer, each step when it finishes, an answer that broke off with `metadata.interrupted`. A message or a step that
 * is stored is not stored again. If the answer cannot be stored, it is given all the same, with a warning, or in a stream with an error part.
 * Errors: `INVALID_ARGUMENT`, also for a model that has such a middleware; in a call `SESSION_OWNED`, and those of `appendMessage` and `prepareTurn`.
 * @example
 * const sessions = SessionManager.create(sqlite("chats.db")).withContext("memory", { scope: "user" });
 * const middleware = stemmaMiddleware({ sessions, sessionId: "chat", userId: "ada" });
 */
export function stemmaMiddleware(options: StemmaMiddlewareOptions): LanguageModelMiddleware {
  OPTIONS.assert(options, "stemmaMiddleware()");
  assertSessionFits(options.sessionId);
  const { userId, sessionId, onError = () => {} } = options;
  const sessions = userId === undefined ? options.sessions : options.sessions.forUser(userId);
  const session = new RememberedSession(sessions, sessionId, turnOptions(options, sessions), onError);
  const steps = new WeakMap<CallParams, RememberedStep>();
  const stepOf = (params: CallParams): RememberedStep => {
    const step = steps.get(params);
    if (step === undefined)
      throw invalid("Give stemmaMiddleware() to wrapLanguageModel(), which calls its functions in order.");
    return step;
  };
  return {
    specificationVersion: "v3",
    overrideSupportedUrls: ({ model }) => markedUrls(model),
    async transformParams({ params, model }) {
      const step = await session.begin(params, model);
      steps.set(step.params, step);
      return step.params;
    },
    wrapGenerate: ({ doGenerate, params }) => keptAnswer(stepOf(params), doGenerate),
    async wrapStream({ doStream, params }) {
      const step = stepOf(params);
      const { stream, ...result } = await orEnd(step, doStream);
      return { ...result, stream: keptStream(stream, step) };
    },
  };
}

function turnOptions({ cacheTtl, recall }: StemmaMiddlewareOptions, { store }: SessionManager): PrepareTurnOptions {
  const quoted = recall ?? (store.userId === undefined ? false : {});
  return { cacheTtl, ...(quoted === false ? {} : { recall: quoted }) };
}

async function keptAnswer(step: RememberedStep, doGenerate: () => PromiseLike<Generated>): Promise<Generated> {
  const result = await orEnd(step, doGenerate);
  step.addAll(result);
  const failure = await step.end(null);
  if (failure === null) return result;
  const message = `The answer was not stored: ${failure instanceof Error ? failure.message : failure}`;
  return { ...result, warnings: [...result.warnings, { type: "other", message }] };
}

async function orEnd<T>(step: RememberedStep, call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    await step.end(step.isAborted ? "aborted" : "error");
    throw error;
  }
}

/**
 * Passes each chunk on at once, and has the step stored before its end is told. The stream is read at the model's pace: a reader
 * that waits holds up no other call of the session. One that leaves ends the answer, as an abort does.
 */
function keptStream(stream: ReadableStream<StreamPart>, step: RememberedStep): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  const { abortSignal } = step.params;
  const stop = (): void => void step.end("aborted");
  let isLeft = false;
  const read = async (controller: ReadableStreamDefaultController<StreamPart>): Promise<void> => {
    let hasFailed = false;
    const pass = (chunk: StreamPart): void => {
      if (!isLeft) controller.enqueue(chunk);
    };
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const chunk = next.value;
      hasFailed ||= chunk.type === "error";
      step.add(chunk);
      if (chunk.type === "finish") {
        const failure = await step.end(hasFailed ? "error" : null);
        if (failure !== null) pass({ type: "error", error: failure });
      }
      pass(chunk);
    }
    // One without its end broke off.
    await step.end("error");
    if (!isLeft) controller.close();
  };
  return new ReadableStream<StreamPart>({
    start(controller) {
      if (abortSignal?.aborted) stop();
      abortSignal?.addEventListener("abort", stop, { once: true });
      const reading = read(controller).catch(async (error) => {
        await step.end(step.isAborted ? "aborted" : "error");
        if (!isLeft) controller.error(error);
      });
      void reading.finally(() => abortSignal?.removeEventListener("abort", stop));
    },
    async cancel(reason) {
      isLeft = true;
      await Promise.all([step.end("aborted"), reader.cancel(reason)]);
    },
  });
}
