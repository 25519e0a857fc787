import { streamText } from "ai";
import type { SessionManager } from "../../manager/session-manager.js";
import { receiveSubmission } from "../receive/receive.js";
import type { Submission } from "../receive/submission.js";
import { respond } from "../respond/respond.js";
import { dropTurn } from "../turn.js";
import type { ChatContext, ChatHandlerOptions, PerRequest, RequestContext } from "./options.js";

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
  const received = await receiveSubmission(session, submission, { ...options, model, tools }, request.signal);
  if (received.response !== null) return received.response;
  try {
    const result = streamText({
      // Said by `respond`, to the client and to `onError`.
      onError: () => {},
      ...settings,
      model,
      ...(received.system === undefined ? {} : { system: received.system }),
      messages: received.messages,
      tools: received.tools,
      abortSignal: received.abortSignal,
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

async function given<T>(option: PerRequest<T>, about: ChatContext): Promise<T> {
  return typeof option === "function" ? await (option as (context: ChatContext) => T)(about) : option;
}
