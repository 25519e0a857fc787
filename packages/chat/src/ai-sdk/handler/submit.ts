import type { SessionManager } from "@stemma/session";
import { coreOf, type Session } from "@stemma/session";
import { observed } from "@stemma/store";
import { type LanguageModel, streamText } from "ai";
import { accept, receiveSubmission } from "../receive/receive.js";
import type { Submission } from "../receive/submission.js";
import { beginAnswer } from "../respond/respond.js";
import type { Ended } from "../respond/respond-options.js";
import type { PrepareStep } from "../session-memory.js";
import { dropTurn } from "../turn.js";
import type { ChatContext, ChatHandlerOptions, ModelSettings, PerRequest, RequestContext } from "./http.js";

const MAX_STEPS = 20;

interface Caller {
  readonly request: Request;
  readonly manager: SessionManager;
  readonly userId: string;
  readonly context: RequestContext;
}

/** Stores what was submitted, asks the model, and answers with its stream. */
export async function submit(
  submission: Submission,
  chatId: string,
  { request, manager, userId, context }: Caller,
  options: ChatHandlerOptions,
): Promise<Response> {
  const session = manager.getSession(chatId);
  const accepted = await accept(session, submission);
  const about: ChatContext = { request, userId, chatId, session, body: submission.body };
  const [model, tools, settings] = await Promise.all([
    given(options.model, about),
    given(options.tools ?? {}, about),
    given(options.settings ?? {}, about),
  ]);
  // Not before the request is known to be good: whoever is refused would own the id.
  await manager.create("", { id: chatId });
  const asking = { ...options, model, tools };
  const { response, ask } = await receiveSubmission(session, accepted, asking, request.signal);
  if (response !== null) return response;
  try {
    return observedAnswer(session, model, () => {
      const result = streamText({
        // Said by `respond`, to the client and to `onError`.
        onError: () => {},
        ...settings,
        ...ask,
        prepareStep: bothOf(ask.prepareStep, settings.prepareStep),
        model,
        stopWhen: options.stopWhen ?? (({ steps }) => steps.length >= MAX_STEPS),
      });
      return beginAnswer(session, result, {
        cost: options.cost,
        messageMetadata: options.messageMetadata,
        waitUntil: (work) => context.waitUntil?.(work),
        onError: options.onError,
      });
    });
  } catch (error) {
    await dropTurn(session);
    throw error;
  }
}

// The store's observer, where there is one, is told of it until the answer has ended.
function observedAnswer(
  session: Session,
  model: LanguageModel,
  begin: () => { readonly response: Response; readonly ended: Promise<Ended> },
): Response {
  const { store } = coreOf(session);
  if (store?.observer === undefined) return begin().response;
  const agent = { model: typeof model === "string" ? model : model.modelId };
  const told = { type: "agent", name: "invokeAgent", sessionId: session.id, agent } as const;
  const begun: { response?: Response; failure?: unknown } = {};
  const observedEnd = observed(store, told, async () => {
    try {
      const { response, ended } = begin();
      begun.response = response;
      const { usage, failure } = await ended;
      if (failure !== null) throw failure;
      return usage;
    } catch (error) {
      begun.failure = error;
      throw error;
    }
  });
  // The client was told of what failed later.
  observedEnd.catch(() => {});
  if (begun.response === undefined) throw begun.failure;
  return begun.response;
}

type StepFunction = NonNullable<ModelSettings["prepareStep"]>;

function bothOf(ours: PrepareStep, theirs: StepFunction | undefined): StepFunction {
  if (theirs === undefined) return ours;
  return async (step) => {
    const told = await ours(step);
    return { ...told, ...(await theirs({ ...step, ...told })) };
  };
}

async function given<T>(option: PerRequest<T>, about: ChatContext): Promise<T> {
  return typeof option === "function" ? await (option as (context: ChatContext) => T)(about) : option;
}
