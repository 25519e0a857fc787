import type { CompactFunction, CompactOptions, SessionMessage } from "@stemma/model";
import { check, defineOptions, invalid, isJsonObject, StemmaError } from "@stemma/model";
import type { CompactionErrorHandler, ContextConfig, LearnFunction } from "@stemma/session";
import type { ModelMessage, streamText } from "ai";
import type { AgentModel, ModelObject } from "./models/model.js";
import type { StorageLike } from "./open-store.js";
import { OURS } from "./session-record.js";
import type { AgentTools, Approve, ToolsOf } from "./tools/agent-tools.js";
import type { ExtendedUsageInfo, ModelPrices } from "./types.js";
export const DEFAULT_MAX_TURNS = 20;

/** Limits of the runner's own compaction. */
export type AgentCompaction = Pick<CompactOptions, "protectHead" | "tailTokenBudget">;

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
  /** The program that made a new session; stored in the registry. Default: `agent`. */
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
  /** Limits of what the session's model leaves as it is when it summarises. Not beside `onCompaction`. */
  compaction?: AgentCompaction | undefined;
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

const objectOf = (what: string) => check.rule(`an object that holds ${what}`, isJsonObject);

const CREATE = defineOptions<CreateSessionOptions>({
  model: check.anything,
  baseURL: check.text,
  apiKey: check.text,
  tools: check.rule(
    "an object that holds tools of the AI SDK by their names",
    (tools) => isJsonObject(tools) && Object.values(tools).every((tool) => typeof tool === "object" && tool !== null),
  ),
  systemPrompt: check.text,
  sessionStorage: check.anything,
  resume: check.text,
  fork: check.text,
  id: (id) => {
    if (id !== "") return check.text(id, "id");
    throw new StemmaError("INVALID_SESSION_ID", { sessionId: "" }, "The id of a session must not be empty.");
  },
  name: check.text,
  source: check.text,
  metadata: (metadata, name) => {
    const fields = objectOf("fields of your own");
    if (Object.hasOwn(metadata ?? {}, OURS)) {
      throw invalid(`metadata.${OURS} is reserved for branches, summaries and blocks: use another name.`);
    }
    try {
      JSON.stringify(metadata);
    } catch (cause) {
      throw invalid("The metadata cannot be written as JSON.", {}, { cause });
    }
    return fields(metadata, name);
  },
  maxTurns: check.whole(1),
  context: check.list("blocks"),
  compactAfter: check.positive("tokens"),
  onCompaction: check.callable,
  compaction: check.nested(
    defineOptions<AgentCompaction>({ protectHead: check.whole(0), tailTokenBudget: check.amount("tokens") }),
  ),
  onCompactionError: check.callable,
  onLearning: check.callable,
  expandableSummaries: check.flag,
  approve: check.callable,
  prices: objectOf("prices by model"),
  settings: objectOf("settings of streamText"),
  abortSignal: check.signal,
});

/** Throws `INVALID_ARGUMENT` or `INVALID_SESSION_ID` for options that no session can be made with. */
export function assertCreateOptions(options: CreateSessionOptions): void {
  CREATE.assert(options, "createSession()");
  const { resume, fork, id, compaction, onCompaction } = options;
  if (resume !== undefined && (fork !== undefined || id !== undefined)) {
    throw invalid("resume cannot be combined with fork or id: pass only one of them.", { resume, fork });
  }
  if (compaction !== undefined && onCompaction !== undefined) {
    throw invalid("compaction is for the summaries of the session's model: give its options to onCompaction instead.");
  }
}

/** Settings for the AI SDK's `streamText` beside what a session gives it: `temperature`, `maxOutputTokens`, `providerOptions`, … */
type CallSettings = Omit<
  Parameters<typeof streamText>[0],
  | "model"
  | "system"
  | "prompt"
  | "messages"
  | "tools"
  | "stopWhen"
  | "prepareStep"
  | "abortSignal"
  | "onError"
  | "output"
>;

export interface TurnOptions extends ToolsOf {
  readonly model: ModelObject;
  readonly tools: AgentTools;
  readonly approve: Approve | undefined;
  readonly maxTurns: number;
  readonly prices: ModelPrices | undefined;
  readonly settings: CallSettings;
  readonly signal: AbortSignal;
}

/** The reads and writes of a turn. */
export interface TurnLog {
  /** The prompt, and the history as the model is to see it. */
  request(): Promise<{ readonly system: string; readonly messages: ModelMessage[] }>;
  /** True when the history that was last read for a request has since been rewritten (by a compaction). */
  rewritten(): boolean;
  /** Changes of others in the blocks since the request, or since this was last asked; null for nothing. */
  update(): Promise<string | null>;
  /** Stores a step's message, as new or in place of its earlier form. */
  write(message: SessionMessage): Promise<void>;
  /** Counts a request, and what it used, for the model that answered. */
  addUsage(usage: ExtendedUsageInfo, model: string): Promise<void>;
}
