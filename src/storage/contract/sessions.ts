import type { SessionMessage } from "../../model/message.js";

/** A registered session, as the documents name its fields. Times are ISO text in UTC with milliseconds. */
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
}

/** A session that goes on with another one. */
export type Continuation = Omit<NewSession, "name"> & { readonly name?: string | undefined };

/** The registry of a store: which sessions it has, and what is noted of each. */
export interface SessionRegistry {
  /** Registers a session. An id that is already registered is returned as it is. */
  create(session: NewSession): Promise<SessionInfo>;
  get(id: string): Promise<SessionInfo | null>;
  /** Sessions by latest change, newest first. `cursor` is a page's `nextCursor`; null when there is no further page. */
  list(options: {
    limit?: number | undefined;
    cursor?: string | undefined;
  }): Promise<{ sessions: SessionInfo[]; nextCursor: string | null }>;
  count(): Promise<number>;
  /** Errors: `SESSION_NOT_FOUND`. */
  rename(id: string, name: string): Promise<void>;
  /** Removes the session and everything kept for it: messages, compactions, media, blocks, prompt, entries, index rows. */
  delete(id: string): Promise<void>;
  /** Adds to the session's counters. Tokens stop at plus or minus `Number.MAX_SAFE_INTEGER`. Errors: `SESSION_NOT_FOUND`. */
  addUsage(id: string, inputTokens: number, outputTokens: number, cost: number): Promise<void>;
  /** Copies the path to `atMessageId` with its compactions, blocks and frozen prompt. Errors: `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `INVALID_ARGUMENT` for an id that is taken. */
  fork(id: string, atMessageId: string, fork: NewSession): Promise<SessionInfo>;
  /** Ends `id` with `end_reason: "compaction"` and creates a continuation that starts with `first`; without a name it has that of `id`. Errors: `SESSION_NOT_FOUND`. */
  split(id: string, first: SessionMessage, continuation: Continuation): Promise<SessionInfo>;
}
