import { check, createCompactFunction, defineOptions, StemmaError } from "@stemma/model";
import { Session } from "@stemma/session";
import type { NewSession, Store } from "@stemma/store";
import { allSessions, isStore, storeTime } from "@stemma/store";
import { AgentSession } from "./agent-session.js";
import { assertCreateOptions, type CreateSessionOptions, DEFAULT_MAX_TURNS } from "./create-options.js";
import { loadAiSdk, type ModelSource, modelSource, NO_USAGE, usageOf } from "./models/model.js";
import { isDocumentStore, isStoreBacked, openStore, type StorageLike } from "./open-store.js";
import { SessionRecord } from "./session-record.js";
import { defaultStorage } from "./storages/create-storage.js";
import { isScopeKey } from "./storages/session-id.js";
import type { ModelPrices, SessionStorage } from "./types.js";
/**
 * Starts a session; with `resume` or `fork`, resumes or forks one. The model is looked for when it is first called. Errors:
 * `SESSION_NOT_FOUND` (`Session not found: …`), `SESSION_EXISTS`, `STORE_UNSUPPORTED`, `INVALID_ARGUMENT`, `CORRUPT_STATE`, `MODEL_UNAVAILABLE` for a `model` that is none.
 * @example
 * const session = await createSession({ model, sessionStorage: new SqliteSessionStorage("chat.db"), id: "me" });
 * await session.send("Hello");
 * for await (const event of session.receive()) if (event.type === "text") console.log(event.text);
 */
export async function createSession(options: CreateSessionOptions = {}): Promise<AgentSession> {
  assertCreateOptions(options);
  const { maxTurns = DEFAULT_MAX_TURNS, resume, fork } = options;
  const model = options.model === undefined ? null : modelSource(options.model, options);
  const store = await openStore(options.sessionStorage ?? defaultStorage());
  const id = resume ?? options.id ?? `sess_${crypto.randomUUID().replaceAll("-", "")}`;
  // Another process may have written a session that lies in memory here.
  if (isDocumentStore(store)) await store.reload(resume ?? fork ?? id);
  const hold = holdIn(store, id);
  try {
    let record: SessionRecord;
    const summarize = model === null ? null : summarizer(model, options.prices, () => record);
    // What cannot be configured is refused before anything is stored.
    const session = configure(store, id, summarize, options);
    record = resume === undefined ? await startRecord(store, id, options) : await SessionRecord.open(store, id);
    return await AgentSession.open(session, record, {
      model,
      tools: options.tools ?? {},
      systemPrompt: options.systemPrompt,
      approve: options.approve,
      maxTurns,
      prices: options.prices,
      settings: options.settings ?? {},
      abortSignal: options.abortSignal,
      release: hold.release,
    });
  } catch (error) {
    await hold.release();
    throw error;
  }
}

// A session of a four-method storage lies in memory while it is open.
function holdIn(store: Store, id: string): { release(): Promise<void> } {
  if (!isDocumentStore(store)) return { release: async () => {} };
  store.retain(id);
  return { release: () => store.release(id) };
}

/**
 * Opens a stored session: `createSession` with `resume`. Errors as for `createSession`.
 * @example
 * const session = await resumeSession("me", { model, sessionStorage: new SqliteSessionStorage("chat.db") });
 */
export function resumeSession(
  sessionId: string,
  options: Omit<CreateSessionOptions, "resume"> = {},
): Promise<AgentSession> {
  return createSession({ ...options, resume: sessionId });
}

/** Starts a session with a copy of another one: `createSession` with `fork`. Errors as for `createSession`. */
export function forkSession(
  sessionId: string,
  options: Omit<CreateSessionOptions, "fork"> = {},
): Promise<AgentSession> {
  return createSession({ ...options, fork: sessionId });
}

async function startRecord(store: Store, id: string, options: CreateSessionOptions): Promise<SessionRecord> {
  const { fork, name = id, source = "agent", metadata } = options;
  if ((await store.sessions.get(id)) !== null) {
    const message = `There is a session "${id}" already: resume it, or choose another id.`;
    throw new StemmaError("SESSION_EXISTS", { sessionId: id }, message);
  }
  const next = { id, name, source, ...(typeof options.model === "string" ? { model: options.model } : {}) };
  const origin = fork === undefined ? null : await SessionRecord.open(store, fork);
  await makeSession(store, next, fork);
  const record = await SessionRecord.open(store, id);
  if (origin !== null) await record.setCounts(NO_USAGE);
  await record.setMetadata({ ...origin?.metadata, ...metadata });
  return record;
}

async function makeSession(store: Store, next: NewSession, fork: string | undefined): Promise<void> {
  const leaf = fork === undefined ? null : await store.session(fork).leaf();
  if (fork === undefined || leaf === null) await store.sessions.create({ ...next, parentSessionId: fork });
  else await store.sessions.fork(fork, leaf.id, next);
}

function configure(store: Store, id: string, summarize: Summarize | null, options: CreateSessionOptions): Session {
  const { context = [], compactAfter, onCompactionError } = options;
  const session = Session.create(store).forSession(id);
  for (const { label, ...block } of context) session.withContext(label, block);
  if (context.length > 0) session.withCachedPrompt();
  const compact =
    options.onCompaction ??
    (summarize === null ? undefined : createCompactFunction({ ...options.compaction, summarize }));
  if (compact !== undefined) session.onCompaction(compact);
  if (compactAfter !== undefined) session.compactAfter(compactAfter);
  if (onCompactionError !== undefined) session.onCompactionError(onCompactionError);
  if (options.onLearning !== undefined) session.onLearning(options.onLearning);
  if (options.expandableSummaries) session.withExpandableSummaries();
  return session;
}

type Summarize = (prompt: string) => Promise<string>;

/** Summarises with the session's model; what it costs counts as the session's. */
function summarizer(model: ModelSource, prices: ModelPrices | undefined, recordOf: () => SessionRecord): Summarize {
  return async (prompt) => {
    const { generateText } = await loadAiSdk();
    const { text, usage, response } = await generateText({ model: (await model()) as never, prompt });
    await recordOf().addUsage(usageOf(usage, prices), response.modelId);
    return text;
  };
}

const CLEANUP = defineOptions<{ olderThan: number | Date }>({ olderThan: check.required(check.age) });

/**
 * Deletes sessions whose last update is older than `olderThan` milliseconds, or earlier than the `Date`. Resolves to the
 * deleted ids. A session that cannot be read is kept, and its error is thrown after the others are done.
 * Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED`, `CORRUPT_STATE`.
 */
export async function cleanupSessions(storage: StorageLike, options: { olderThan: number | Date }): Promise<string[]> {
  CLEANUP.assert(options, "cleanupSessions()");
  const { olderThan } = options;
  const age = Number(olderThan);
  const limitAt = (now: number) => (olderThan instanceof Date ? age : now - age);
  const store = isStore(storage) ? storage : isStoreBacked(storage) ? await storage.openStore() : null;
  if (store !== null) return cleanStore(store, limitAt(await storeTime(store)));
  return cleanStorage(storage as SessionStorage, limitAt(Date.now()));
}

async function cleanStorage(storage: SessionStorage, limit: number): Promise<string[]> {
  const deleted: string[] = [];
  let failure: { error: unknown } | null = null;
  for (const id of await storage.list()) {
    // What is remembered of a user is no session.
    if (isScopeKey(id)) continue;
    try {
      const state = await storage.load(id);
      if (state === undefined || !(state.updatedAt < limit)) continue;
      await storage.delete(id);
      deleted.push(id);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== null) throw failure.error;
  return deleted;
}

async function cleanStore(store: Store, limit: number): Promise<string[]> {
  const { sessions } = store;
  const old: string[] = [];
  for await (const info of allSessions(store)) if (Date.parse(info.updated_at) < limit) old.push(info.id);
  const deleted: string[] = [];
  for (const id of old) {
    // Someone may have gone on with it meanwhile.
    const info = await sessions.get(id);
    if (info === null || !(Date.parse(info.updated_at) < limit)) continue;
    await sessions.delete(id);
    deleted.push(id);
  }
  return deleted;
}
