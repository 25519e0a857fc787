import { streamText } from "ai";
import type { SessionManager } from "../../manager/session-manager.js";
import type { PrepareStep } from "../memory.js";
import { receiveSubmission } from "../receive/receive.js";
import type { Submission } from "../receive/submission.js";
import { respond } from "../respond/respond.js";
import { dropTurn } from "../turn.js";
import type { ChatContext, ChatHandlerOptions, ModelSettings, PerRequest, RequestContext } from "./options.js";

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
  await manager.create("", { id: chatId });
  const session = manager.getSession(chatId);
  const about: ChatContext = { request, userId, chatId, session, body: submission.body };
  const [model, tools, settings] = await Promise.all([
    given(options.model, about),
    given(options.tools ?? {}, about),
    given(options.settings ?? {}, about),
  ]);
  const { response, ask } = await receiveSubmission(session, submission, { ...options, model, tools }, request.signal);
  if (response !== null) return response;
  try {
    const result = streamText({
      // Said by `respond`, to the client and to `onError`.
      onError: () => {},
      ...settings,
      ...ask,
      prepareStep: bothOf(ask.prepareStep, settings.prepareStep),
      model,
      stopWhen: options.stopWhen ?? (({ steps }) => steps.length >= MAX_STEPS),
    });
    return respond(session, result, {
      cost: options.cost,
      messageMetadata: options.messageMetadata,
      waitUntil: (work) => context.waitUntil?.(work),
      onError: (error) => options.onError?.(error) || "An error occurred.",
    });
  } catch (error) {
    await dropTurn(session);
    throw error;
  }
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
