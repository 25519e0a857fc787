import { type CompactFunction, createCompactFunction } from "../compaction/compact.js";
import type { ContextConfig } from "../context/block.js";
import { invalid, StemmaError } from "../errors.js";
import type { LearnFunction } from "../learning/learn.js";
import { isJsonObject } from "../model/json-object.js";
import type { CompactionErrorHandler } from "../session/compactor.js";
import { Session } from "../session/session.js";
import type { NewSession, Store } from "../storage/contract.js";
import { AgentSession } from "./agent-session.js";
import { defaultStorage } from "./default-storage.js";
import { loadAiSdk } from "./models/ai-sdk.js";
import { type AgentModel, type ModelSource, modelSource } from "./models/model.js";
import { NO_USAGE, usageOf } from "./models/usage.js";
import { isDocumentStore, openStore, type StorageLike } from "./open-store.js";
import { OURS, SessionRecord } from "./session-record.js";
import type { AgentTools, Approve } from "./tools/agent-tools.js";
import type { CallSettings } from "./turn.js";
import type { ModelPrices } from "./types.js";

export interface CreateSessionOptions {
  /** A model of the AI SDK, or its name (`claude-…`, `gpt-…`, `provider/model`). A session without one can only be read and written. */
  model?: AgentModel | undefined;
  /** The URL of an OpenAI-compatible server; it gets the model's name unchanged. */
  baseURL?: string | undefined;
  /** Default: the provider's usual environment variable. */
  apiKey?: string | undefined;
  tools?: AgentTools | undefined;
  /** The text before the blocks of `context`. */
  systemPrompt?: string | undefined;
  /** A four-method storage, or a store (`sqlite(path)`, …). Default: that of `setDefaultStorage`, else the process's memory. */
  sessionStorage?: StorageLike | undefined;
  /** The id of a stored session to continue. */
  resume?: string | undefined;
  /** The id of a stored session to copy: the new session starts with its history, blocks and summaries. */
  fork?: string | undefined;
  /** A new session's id. Default: a random one. */
  id?: string | undefined;
  /** The name of a new session in lists. Default: the id. */
  name?: string | undefined;
  /** What made a new session; stored in the registry. Default: `agent`. */
  source?: string | undefined;
  /** Your own fields, stored with a new session in the registry (`SessionInfo.metadata`). A fork has those of its origin, too. */
  metadata?: Record<string, unknown> | undefined;
  /** The most calls of the model within one `receive`. Default 20. */
  maxTurns?: number | undefined;
  /** Context blocks: what the model always sees, and what it reads and writes with the generated tools. */
  context?: readonly ContextConfig[] | undefined;
  /** Compacts when history and prompt have more estimated tokens than this. */
  compactAfter?: number | undefined;
  /** How to compact. Default: the session's model summarises. */
  onCompaction?: CompactFunction | undefined;
  onCompactionError?: CompactionErrorHandler | undefined;
  /** Learns from the conversation into the blocks of `context`: see `Session.onLearning`. */
  onLearning?: LearnFunction | undefined;
  /** Adds `expand_summary`, with which the model reads the messages under a summary. */
  expandableSummaries?: boolean | undefined;
  /** Called before a tool with `needsApproval` runs. */
  approve?: Approve | undefined;
  prices?: ModelPrices | undefined;
  /** Further settings of the AI SDK's `streamText`: `temperature`, `maxOutputTokens`, `providerOptions`, `maxRetries`, … */
  settings?: CallSettings | undefined;
  /** Aborts a running turn. */
  abortSignal?: AbortSignal | undefined;
}

/**
 * Starts a session; with `resume` or `fork`, resumes or forks one. The model is looked for when it is first called. Errors:
 * `SESSION_NOT_FOUND` (`Session not found: …`), `SESSION_EXISTS`, `STORE_UNSUPPORTED`, `INVALID_ARGUMENT`, `CORRUPT_STATE`, `MODEL_UNAVAILABLE` for a `model` that is none.
 */
export async function createSession(options: CreateSessionOptions = {}): Promise<AgentSession> {
  const { maxTurns = 20, resume, fork } = options;
  if (!Number.isInteger(maxTurns) || maxTurns < 1) {
    throw invalid("maxTurns must be a whole number from 1.", { maxTurns });
  }
  if (resume !== undefined && (fork !== undefined || options.id !== undefined)) {
    throw invalid("resume cannot be combined with fork or id: pass only one of them.", { resume, fork });
  }
  if (options.id === "") {
    throw new StemmaError("INVALID_SESSION_ID", { sessionId: "" }, "The id of a session must not be empty.");
  }
  assertMetadata(options.metadata);
  assertTools(options.tools);
  const model = options.model === undefined ? null : modelSource(options.model, options);
  const store = await openStore(options.sessionStorage ?? defaultStorage());
  const id = resume ?? options.id ?? `sess_${crypto.randomUUID().replaceAll("-", "")}`;
  // Another process may have written a session that lies in memory here.
  if (isDocumentStore(store)) await store.reload(resume ?? fork ?? id);
  const hold = holdIn(store, id);
  try {
    const record = resume === undefined ? await startRecord(store, id, options) : await SessionRecord.open(store, id);
    const summarize = model === null ? null : summarizer(model, options.prices, record);
    return await AgentSession.open(configure(store, id, summarize, options), record, {
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

/** Opens a stored session: `createSession` with `resume`. Errors as for `createSession`. */
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

function assertTools(tools: AgentTools = {}): void {
  const values: unknown[] = isJsonObject(tools) ? Object.values(tools) : [null];
  if (values.every((tool) => typeof tool === "object" && tool !== null)) return;
  throw invalid("tools must be an object that holds tools of the AI SDK by their names.");
}

function assertMetadata(metadata: Record<string, unknown> | undefined): void {
  if (metadata === undefined) return;
  if (Object.hasOwn(metadata, OURS)) {
    throw invalid(`metadata.${OURS} is reserved for branches, summaries and blocks: use another name.`);
  }
  try {
    JSON.stringify(metadata);
  } catch (cause) {
    throw invalid("The metadata cannot be written as JSON.", {}, { cause });
  }
}

function configure(store: Store, id: string, summarize: Summarize | null, options: CreateSessionOptions): Session {
  const { context = [], compactAfter, onCompactionError } = options;
  const session = Session.create(store).forSession(id);
  for (const { label, ...block } of context) session.withContext(label, block);
  if (context.length > 0) session.withCachedPrompt();
  const compact = options.onCompaction ?? (summarize === null ? undefined : createCompactFunction({ summarize }));
  if (compact !== undefined) session.onCompaction(compact);
  if (compactAfter !== undefined) session.compactAfter(compactAfter);
  if (onCompactionError !== undefined) session.onCompactionError(onCompactionError);
  if (options.onLearning !== undefined) session.onLearning(options.onLearning);
  if (options.expandableSummaries) session.withExpandableSummaries();
  return session;
}

type Summarize = (prompt: string) => Promise<string>;

/** Summarises with the session's model; what it costs counts as the session's. */
function summarizer(model: ModelSource, prices: ModelPrices | undefined, record: SessionRecord): Summarize {
  return async (prompt) => {
    const { generateText } = await loadAiSdk();
    const { text, usage, response } = await generateText({ model: (await model()) as never, prompt });
    await record.addUsage(usageOf(usage, prices), response.modelId);
    return text;
  };
}
