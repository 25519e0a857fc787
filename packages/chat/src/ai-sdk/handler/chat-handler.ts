// One handler, from the options to the routes and what each of them does.
import { assertText, check, defineOptions, invalid, isJsonObject } from "@stemma/model";
import {
  coreOf,
  hasMethod,
  LEARN_DUE,
  otherCopy,
  type Session,
  SessionManager,
  type SessionUpdate,
} from "@stemma/session";
import { assertSessionFits, assertSessionId, kindOfHost, observed } from "@stemma/store";
import { type LanguageModel, streamText } from "ai";
import { assertForgetful } from "../middleware/remembering-models.js";
import { accept, DEFAULT_MAX_BODY_BYTES, dropTurn, LIMITS, receiveSubmission, responseOf } from "../receive/receive.js";
import { readFields, readSubmission, type Submission } from "../receive/submission.js";
import { beginAnswer, type Ended } from "../respond/respond.js";
import { SessionRuns } from "../run/runs.js";
import type { PrepareStep } from "../session-memory.js";
import { infoOf, listChats, readChat, readMemory, recallChats, searchChats } from "./chats.js";
import { type ChatFactHistory, changeFact, exportFacts, forgetFact, listFacts, readFact } from "./facts.js";
import {
  type ChatContext,
  type ChatHandler,
  type ChatHandlerOptions,
  isForeign,
  json,
  type ModelSettings,
  notFound,
  type PerRequest,
  type RequestContext,
  refusal,
  refusalOf,
} from "./http.js";

/** How long a chat that is deleted may take to end its answer, in milliseconds. */
const STOP_TIMEOUT = 5000;

/** In the place of a chat's id: what is remembered of the user. */
const MEMORY = "memory";

interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly manager: SessionManager;
  readonly userId: string;
  readonly context: RequestContext;
}

/**
 * Serves the chats of a manager's users to `useChat`: a function from a request to a response, for any server that speaks
 * `fetch`. It answers what it refuses with a `ChatError`. Errors: `INVALID_ARGUMENT`.
 * @example
 * const sessions = SessionManager.create(sqlite("chats.db")).withContext("memory", { scope: "user" });
 * const authenticate = (request: Request) => ({ userId: request.headers.get("x-user") ?? "guest" });
 * const handler = chatHandler({ sessions, model, authenticate });
 */
export function chatHandler(options: ChatHandlerOptions): ChatHandler {
  OPTIONS.assert(options, "chatHandler()");
  assertForgetful(options.model, "chatHandler()");
  const { basePath = "/api/chat", origins = [] } = options;
  const base = basePath.replace(/\/+$/, "");
  return async (request, context = {}) => {
    try {
      const url = new URL(request.url);
      const route = routeOf(url.pathname, base);
      if (route === null) return notFound();
      if (isForeign(request, origins)) return refusal(403, "FOREIGN_ORIGIN", "This origin may not send requests.");
      const user = await options.authenticate(request);
      if (user === null) return refusal(401, "UNAUTHENTICATED", "Sign in first.");
      const manager = options.sessions.forUser(user.userId);
      return await serve(route, { request, url, manager, userId: user.userId, context }, options);
    } catch (error) {
      const refused = refusalOf(error);
      if (refused !== null) return refused;
      return refusal(500, "INTERNAL", options.onError?.(error) || "An error occurred.");
    }
  };
}

async function serve(route: readonly string[], call: Call, options: ChatHandlerOptions): Promise<Response> {
  const [chatId, action] = route;
  if (chatId === MEMORY && (action === undefined || action === "fact" || action === "export")) {
    return serveMemory(action, call, options);
  }
  const method = `${call.request.method} ${chatId === undefined ? "/" : `/:id${action === undefined ? "" : `/${action}`}`}`;
  switch (method) {
    case "POST /":
      return post(call, options);
    case "GET /":
      return list(call);
    case "GET /:id":
      return json(await readChat(call.manager, chatId as string, call.url));
    case "PATCH /:id":
      return change(call, chatId as string, options);
    case "GET /:id/memory":
      return json(await readMemory(call.manager, chatId as string));
    case "DELETE /:id":
      return remove(call, chatId as string);
    case "GET /:id/stream":
      return resume(call, chatId as string);
    case "POST /:id/stop":
      return stop(call, chatId as string, options);
    case "POST /:id/select":
      return select(call, chatId as string, options);
    default:
      return refusal(405, "METHOD_NOT_ALLOWED", `There is no ${method}.`);
  }
}

async function serveMemory(
  action: string | undefined,
  { request, manager, url }: Call,
  options: ChatHandlerOptions,
): Promise<Response> {
  const method = `${request.method} /memory${action === undefined ? "" : `/${action}`}`;
  switch (method) {
    case "GET /memory":
      return json(await listFacts(manager, url));
    case "GET /memory/export": {
      const response = json(await exportFacts(manager));
      response.headers.set("content-disposition", 'attachment; filename="memory.json"');
      return response;
    }
    case "GET /memory/fact":
      return factAnswer(await readFact(manager, url));
    case "PATCH /memory/fact": {
      const body = await readFields(request, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
      return factAnswer(await changeFact(manager, url, body));
    }
    case "DELETE /memory/fact":
      return (await forgetFact(manager, url)) ? new Response(null, { status: 204 }) : notFound();
    default:
      return refusal(405, "METHOD_NOT_ALLOWED", `There is no ${method}.`);
  }
}

function factAnswer(history: ChatFactHistory | null): Response {
  return history === null ? notFound() : json(history);
}

async function post(call: Call, options: ChatHandlerOptions): Promise<Response> {
  const submission = await readSubmission(call.request, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  if (submission.chatId === undefined) return refusal(400, "INVALID_ARGUMENT", "The body names its chat: { id, … }.");
  if (submission.chatId === MEMORY)
    return refusal(400, "INVALID_ARGUMENT", "No chat is named memory: facts are there.");
  assertSessionId(submission.chatId);
  assertSessionFits(submission.chatId);
  return submit(submission, submission.chatId, call, options);
}

async function list({ manager, url, request }: Call): Promise<Response> {
  const asked = url.searchParams.get("recall");
  if (asked !== null) return json(await recallChats(manager, asked, url));
  const query = url.searchParams.get("q");
  return json(await (query === null ? listChats(manager, url) : searchChats(manager, query, url, request.signal)));
}

async function change({ manager, request }: Call, chatId: string, options: ChatHandlerOptions): Promise<Response> {
  const { name, metadata } = await readFields(request, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  if (name === undefined && metadata === undefined) {
    return refusal(400, "INVALID_ARGUMENT", "The body says what to change: { name, metadata }.");
  }
  return json(infoOf(await manager.update(chatId, { name, metadata } as SessionUpdate)));
}

async function resume({ manager }: Call, chatId: string): Promise<Response> {
  if ((await manager.get(chatId)) === null) return new Response(null, { status: 204 });
  const stream = await new SessionRuns(manager.getSession(chatId)).stream();
  return stream === null ? new Response(null, { status: 204 }) : responseOf(stream);
}

async function stop({ manager, request }: Call, chatId: string, options: ChatHandlerOptions): Promise<Response> {
  const { runId } = await readFields(request, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  assertText(runId, "runId");
  if ((await manager.get(chatId)) === null) return notFound();
  const runs = new SessionRuns(manager.getSession(chatId));
  const stopped = await runs.stop(runId);
  if (stopped) await runs.idle(STOP_TIMEOUT);
  return json({ stopped });
}

async function select({ manager, request, url }: Call, chatId: string, options: ChatHandlerOptions): Promise<Response> {
  const { messageId } = await readFields(request, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  assertText(messageId, "messageId");
  if ((await manager.get(chatId)) === null) return notFound();
  await manager.selectBranch(chatId, messageId);
  return json(await readChat(manager, chatId, url));
}

async function remove({ manager }: Call, chatId: string): Promise<Response> {
  if ((await manager.get(chatId)) === null) return notFound();
  const runs = new SessionRuns(manager.getSession(chatId));
  const run = await runs.latest();
  if (run !== null && (await runs.stop(run.runId))) await runs.idle(STOP_TIMEOUT);
  await manager.delete(chatId);
  return new Response(null, { status: 204 });
}

// The parts of a path behind the base; null for a path elsewhere.
function routeOf(path: string, base: string): string[] | null {
  if (path !== base && !path.startsWith(`${base}/`)) return null;
  const parts = path
    .slice(base.length)
    .split("/")
    .filter((part) => part !== "");
  try {
    return parts.length > 2 ? null : parts.map(decodeURIComponent);
  } catch {
    return null;
  }
}

const isObjectOrFunction = (value: unknown) => typeof value === "function" || isJsonObject(value);
const objectOrFunction = check.rule("an object, or a function that gives one", isObjectOrFunction);

/** True for the beginning of a URL's path; all else would make every request a 404. */
function isBasePath(path: unknown): boolean {
  if (typeof path !== "string") return false;
  const base = path.replace(/\/+$/, "");
  const url = `http://host${base}`;
  return base === "" || (URL.canParse(url) && new URL(url).pathname === base);
}

/** Origins as browsers send them: in lower case, with nothing behind the host or its port. */
function isOrigin(origin: unknown): boolean {
  return typeof origin === "string" && (origin === "null" || /^[a-z][a-z\d+.-]*:\/\/[^/?#\sA-Z*]+$/.test(origin));
}

const OPTIONS = defineOptions<ChatHandlerOptions>({
  ...LIMITS,
  sessions: check.required((sessions: unknown) => {
    if (sessions instanceof SessionManager) return;
    if (hasMethod(sessions, "getSession")) throw otherCopy("chatHandler()", "SessionManager");
    const got = kindOfHost(sessions);
    throw invalid(`sessions must be a SessionManager, as SessionManager.create(store) gives it; got ${got}.`);
  }),
  model: check.required(
    check.rule(
      "a model of the AI SDK, the name of one, or a function that gives one",
      (model: unknown) =>
        (typeof model === "string" && model !== "") ||
        typeof model === "function" ||
        (isJsonObject(model) && "specificationVersion" in model),
    ),
  ),
  tools: objectOrFunction,
  authenticate: check.required(check.callable),
  basePath: check.rule("a path as in URLs: it begins with /, as /api/chat", isBasePath),
  settings: objectOrFunction,
  stopWhen: check.rule("a function, or an array of functions", (value: unknown) =>
    [value].flat().every((each) => typeof each === "function"),
  ),
  origins: check.rule(
    "an array of origins as browsers send them: https://app.example.com, without a path or a / at its end",
    (origins) => Array.isArray(origins) && origins.every(isOrigin),
  ),
  learn: check.nested(LEARN_DUE),
  cost: check.callable,
  messageMetadata: check.callable,
  onError: check.callable,
});

const MAX_STEPS = 20;

interface Caller {
  readonly request: Request;
  readonly manager: SessionManager;
  readonly userId: string;
  readonly context: RequestContext;
}

async function submit(
  submission: Submission,
  chatId: string,
  { request, manager, userId, context }: Caller,
  options: ChatHandlerOptions,
): Promise<Response> {
  const session = manager.getSession(chatId);
  const accepted = await accept(session, submission);
  const about: ChatContext = { request, userId, chatId, session, body: submission.body };
  const [model, tools, settings] = await Promise.all([
    valueFor(options.model, about),
    valueFor(options.tools ?? {}, about),
    valueFor(options.settings ?? {}, about),
  ]);
  assertForgetful(model, "chatHandler()");
  // Not before the request is known to be good: whoever is refused would own the id.
  const registered = manager.create("", { id: chatId });
  const asking = { ...options, model, tools };
  const { response, ask } = await receiveSubmission(session, accepted, asking, request.signal, registered);
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
        waitUntil: (ended) => context.waitUntil?.(ended.then(() => learnAfter(session, manager, options))),
        onError: options.onError,
      });
    });
  } catch (error) {
    await dropTurn(session);
    throw error;
  }
}

/** Platforms end what goes on for longer behind a response. */
const LEARNING_TIME = 20_000;
const MOST_LEARNED = 5;

// Never fails: the answer is there.
async function learnAfter(session: Session, manager: SessionManager, options: ChatHandlerOptions): Promise<void> {
  if (coreOf(session).learner === null) return;
  const limits = { limit: MOST_LEARNED, deadline: Date.now() + LEARNING_TIME };
  try {
    await manager.learnDue({ ...limits, ...options.learn });
  } catch (error) {
    options.onError?.(error);
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
  const call = { type: "agent", name: "invokeAgent", sessionId: session.id, agent } as const;
  const begun: { response?: Response; failure?: unknown } = {};
  const observedEnd = observed(store, call, async () => {
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
    const own = await ours(step);
    return { ...own, ...(await theirs({ ...step, ...own })) };
  };
}

async function valueFor<T>(option: PerRequest<T>, about: ChatContext): Promise<T> {
  return typeof option === "function" ? await (option as (context: ChatContext) => T)(about) : option;
}
