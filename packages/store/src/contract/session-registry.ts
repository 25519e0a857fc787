import type { SessionMessage } from "@stemma/model";
import type { Erased, Pruned, PruneRequest } from "./erasing.js";
import type { MetadataValue } from "./found.js";
import type { ListOptions } from "./memory.js";
/** A registered session. Cloudflare's documentation names these fields. Times are ISO text in UTC with milliseconds. */
export interface SessionInfo {
  id: string;
  name: string;
  parent_session_id: string | null;
  model: string | null;
  source: string | null;
  input_tokens: number;
  output_tokens: number;
  estimated_cost: number;
  end_reason: string | null;
  /** The user that it belongs to; null for none. */
  user_id: string | null;
  /** The program's own fields; {} when there are none. */
  metadata: Record<string, unknown>;
  created_at: string;
  /** The latest write to the session or to its registry entry. */
  updated_at: string;
}

export interface NewSession {
  id: string;
  name: string;
  parentSessionId?: string | undefined;
  model?: string | undefined;
  source?: string | undefined;
  /** The user that it belongs to. Default: none, or the user that the store is confined to. */
  userId?: string | undefined;
  /** A JSON object. Fields that are null are left out. Default: {}. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** A change of a registry entry. Fields that are left out stay. */
export interface SessionChange {
  readonly name?: string | undefined;
  /** If the session has another name than this, nothing is changed. */
  readonly expectedName?: string | undefined;
  /** Each field replaces the present one as a whole; null removes a field. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** The registry entry of a copy from elsewhere. Fields that are left out stay. */
export interface SessionDates {
  /** ISO time. */
  readonly createdAt?: string | undefined;
  /** ISO time of the latest change, where no message was stored later. */
  readonly updatedAt?: string | undefined;
  readonly endReason?: string | null | undefined;
}

/** Which sessions a list gives: whatever is left out does not narrow it. */
export interface SessionFilter {
  readonly userId?: string | undefined;
  /** Only ids that begin with this. */
  readonly idPrefix?: string | undefined;
  /** Only names that contain this text; letters from A to Z match in both cases. */
  readonly nameContains?: string | undefined;
  /** Only sessions that were forked or split off this one. */
  readonly parentSessionId?: string | undefined;
  /** Only sessions whose metadata has these fields with these values; null stands for a field that is not there. */
  readonly metadata?: Readonly<Record<string, MetadataValue>> | undefined;
}

/**
 * By the latest change, by all tokens that were counted, by cost, by how many messages were written to it, on all branches,
 * or by when it was registered; the latest or highest first. `messages` looks at every session that the list could give; no
 * index holds it. `registered` is the one order that nothing changes.
 */
export type SessionOrder = "change" | "tokens" | "cost" | "messages" | "registered";

/** A page of a list of sessions. */
export interface SessionListRequest extends SessionFilter {
  /** Default: "change". */
  readonly orderBy?: SessionOrder | undefined;
  /** Default: all. */
  readonly limit?: number | undefined;
  /** A page's `nextCursor`, of the same order. */
  readonly cursor?: string | undefined;
}

/** A session that goes on with another one. */
export type Continuation = Omit<NewSession, "name"> & { readonly name?: string | undefined };

/** Which sessions `SessionRegistry.due` gives. */
export interface DueRequest extends ListOptions {
  /** Only this session. Default: all. */
  readonly sessionId?: string | undefined;
  /** ISO time: only sessions whose latest change came before it. Default: all. */
  readonly changedBefore?: string | undefined;
}

/** The registry of a store: an entry for each session. */
export interface SessionRegistry {
  /**
   * Registers a session. An id that is already registered is returned as it is; with `userId` it becomes that user's if it
   * was nobody's. Errors: `SESSION_OWNED` for another user's.
   */
  create(session: NewSession): Promise<SessionInfo>;
  get(id: string): Promise<SessionInfo | null>;
  /** Sessions in an order. `nextCursor` is null when there is no further page. Errors: `INVALID_ARGUMENT` for a cursor that is none of the order. */
  list(options: SessionListRequest): Promise<{ sessions: SessionInfo[]; nextCursor: string | null }>;
  count(): Promise<number>;
  /**
   * The ids of no registered session under which blocks, entries or records are kept, in the order of their UTF-8 bytes: "" for
   * what is shared, as a rule. A store of one user knows none.
   */
  unregistered(options?: ListOptions): Promise<string[]>;
  /**
   * The ids of sessions that may hold messages nobody has learned from, in the order of their UTF-8 bytes. A session is one of
   * them until `markLearned`, and again after each write to its messages. How long it takes depends on how many are due alone.
   */
  due(request?: DueRequest): Promise<string[]>;
  /**
   * Notes that all messages of a session were learned from, as of a `change` that its `SessionStore.change` gave. False, and
   * nothing noted, where it has changed since, and for an unknown id.
   */
  markLearned(id: string, change: string): Promise<boolean>;
  /** Resolves to the entry as it is then. Errors: `SESSION_NOT_FOUND`. */
  update(id: string, change: SessionChange): Promise<SessionInfo>;
  /** Dates a copy of a session from elsewhere, once all of it is written. Errors: `SESSION_NOT_FOUND`. */
  restore(id: string, dates: SessionDates): Promise<void>;
  /**
   * Removes the session and everything kept for it: messages, compactions, media, blocks, prompt, entries, versions, records,
   * usage, vectors, index rows. Resolves to how much that was; of an unknown id it is nothing.
   */
  delete(id: string): Promise<Erased>;
  /** One step of retention, which nobody's write waits for long; an unknown id is done. */
  prune(id: string, request: PruneRequest): Promise<Pruned>;
  /**
   * Counts one request: adds to the session's counters, and to those of the session, the present day (UTC) and the model, ""
   * where it is not known. Under the model `learning`, `updated_at` stays. Tokens stop at plus or minus
   * `Number.MAX_SAFE_INTEGER`. Errors: `SESSION_NOT_FOUND`.
   */
  addUsage(id: string, inputTokens: number, outputTokens: number, cost: number, model?: string): Promise<void>;
  /** Lists the usage of a session: a row for each day and model, by day, then model. */
  usageRows(id: string): Promise<UsageRow[]>;
  /**
   * Imports usage that was counted elsewhere: adds `total` to the session's counters, and writes the rows. If a row's day and model
   * have counters already, each gets the larger value. Errors: `SESSION_NOT_FOUND`.
   */
  importUsage(id: string, total: Usage, rows?: readonly UsageRow[]): Promise<void>;
  /** Sums usage up by day, model or session: days newest first, the others by cost, then tokens, highest first. */
  usage(request: UsageRequest): Promise<UsageSum[]>;
  /**
   * Sums up what compactions cover and what their summaries take: days newest first, the others by what was saved, the most
   * first. One that was made before this was noted is left out.
   */
  compactionSums(request: CompactionSumRequest): Promise<CompactionSum[]>;
  /** Copies the path to `atMessageId` with its compactions, blocks, frozen prompt, user and metadata. Errors: `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `INVALID_ARGUMENT` for an id that is taken. */
  fork(id: string, atMessageId: string, fork: NewSession): Promise<SessionInfo>;
  /** Ends `id` with `end_reason: "compaction"` and creates a continuation that starts with `first`; without a name it has that of `id`; user and metadata are its too. Errors: `SESSION_NOT_FOUND`. */
  split(id: string, first: SessionMessage, continuation: Continuation): Promise<SessionInfo>;
  /**
   * Gives the sessions, blocks and entries of the user `from` to the user `to`. If both have a block or an entry, the text of `to`
   * stays, and the text of `from` is appended on a new line unless the other contains it. Resolves to the number of sessions. Errors: `SESSION_OWNED` on a store that is confined to a user.
   */
  claim(from: string, to: string): Promise<number>;
}

/** Which usage is summed up: whatever is left out does not narrow it. */
export interface UsageRequest {
  readonly by: "day" | "model" | "session";
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  /** The first day, as `2026-11-22`. */
  readonly from?: string | undefined;
  /** The last day. */
  readonly to?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

/** A session's usage on one day of one model. */
export interface UsageRow extends Usage {
  /** In UTC, as `2026-11-22`. */
  readonly day: string;
  /** "" where it is not known. */
  readonly model: string;
  readonly requests: number;
}

export interface UsageSum extends Usage {
  /** The day, the model ("" where it is not known), or the session's id. */
  readonly name: string;
  readonly requests: number;
}

/** Which compactions are summed up: whatever is left out does not narrow it. */
export interface CompactionSumRequest extends Omit<UsageRequest, "by"> {
  readonly by: "day" | "session" | "compaction";
}

/** The size of what compactions cover, and of their summaries, in estimated tokens. */
export interface CompactionSum {
  /** The day on which they were made, in UTC, the session's id, or the compaction's. */
  readonly name: string;
  readonly compactions: number;
  /** The covered messages, as a model was shown them when the compactions were made. */
  readonly tokensBefore: number;
  /** The summaries. */
  readonly tokensAfter: number;
}
