import type { SessionMessage, SessionMessagePart } from "@stemma/model";

/** A message of the runner: content as a text, or as blocks. */
export interface SDKMessage {
  /** Absent only on messages that a host wrote; every stored one has an id. */
  id?: string;
  role: "user" | "assistant" | "system";
  content: string | ContentBlock[];
  createdAt?: Date | string | number;
  metadata?: unknown;
  /** The stored message, where the shapes of `content` alone could not give it back. Conversions write and read it. */
  ui?: SessionMessage;
}

export type ContentBlock = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | PartBlock;

export interface TextBlock {
  type: "text";
  text: string;
}

export interface ImageBlock {
  type: "image";
  source: { type: "base64"; media_type: string; data: string } | { type: "url"; url: string };
}

export interface ToolUseBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: unknown;
}

export interface ToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: string | ContentBlock[];
  is_error?: boolean;
  /** `content` is the JSON text of a result that was not a text. */
  json?: true;
}

/** A part of a stored message that the documented blocks have no shape for: reasoning, files, sources, data. */
export interface PartBlock {
  type: "part";
  part: SessionMessagePart;
}

/** Tokens, and dollars where prices were given. Cached input tokens are counted apart from `input_tokens`. */
export interface ExtendedUsageInfo {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens?: number;
  cache_read_input_tokens?: number;
  total_cost_usd?: number;
}

/** Everything a four-method storage keeps of a session. */
export interface SessionState {
  id: string;
  /** The conversation on the active branch, whole: compaction takes nothing out of it. */
  messages: SDKMessage[];
  usage: ExtendedUsageInfo;
  /** The host's own. The key `stemma` is taken: it holds branches, summaries and blocks. */
  metadata: Record<string, unknown>;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Milliseconds since 1970. */
  updatedAt: number;
  /** The session that this one was forked from. */
  parentId?: string;
}

/**
 * A place for whole session states. Any object with these four methods is one. If a method rejects, the runner's call fails with
 * that error. `save` should fail with `SESSION_CONFLICT` when another program wrote the state since it was loaded here.
 */
export interface SessionStorage {
  /** Writes the state, in place of what is stored under its id. */
  save(state: SessionState): Promise<void>;
  /** Undefined when there is none. */
  load(sessionId: string): Promise<SessionState | undefined>;
  /** An unknown id does nothing. */
  delete(sessionId: string): Promise<void>;
  /** The ids of all stored states. */
  list(): Promise<string[]>;
}

/** An event of `receive()`. What an event says, other than `text`, is stored already. */
export type AgentEvent =
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content: string; is_error?: boolean }
  | { type: "message"; message: SDKMessage }
  | { type: "stop"; stop_reason: StopReason; usage: ExtendedUsageInfo }
  | { type: "error"; error: Error };

/**
 * Why a turn ended. `tool_use`: a tool without `execute` waits for its result (`send` a `tool_result` block). `max_turns`:
 * the model wanted to go on. `aborted`, `error`: what was finished is stored, and the next turn can start.
 */
export type StopReason = "end_turn" | "tool_use" | "max_turns" | "max_tokens" | "refusal" | "aborted" | "error";

/** Dollars per million tokens. */
export interface ModelPrices {
  input: number;
  output: number;
  /** Default: `input`. */
  cacheRead?: number | undefined;
  /** Default: `input`. */
  cacheWrite?: number | undefined;
}
