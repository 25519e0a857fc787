import type { HistoryMessage, SessionMessage } from "@stemma/model";
import { check, defineOptions, isJsonObject } from "@stemma/model";
import type { ContextBlock } from "../../context/block.js";
import type { SessionTools } from "../../tools/tool.js";
import { RECALL, type Recalled, type RecalledPlace, type RecallOptions } from "../recall/recall-options.js";

/** How long providers keep the prefix of a request, in milliseconds, unless `cacheTtl` says otherwise. */
export const DEFAULT_CACHE_TTL = 300_000;

export interface PrepareTurnOptions {
  /** The user's message that is to be answered. Default: the last one of the visible history. */
  messageId?: string | null | undefined;
  /** How long the model's provider keeps the prefix of a request, in milliseconds. Default 300,000. */
  cacheTtl?: number | undefined;
  /** Of a stored message that cannot be read: throw `CORRUPT_MESSAGE` (the default), or leave it out. */
  onCorrupt?: "throw" | "skip" | undefined;
  /** Quotes what the user's entries and other chats hold about the message. Default: nothing. */
  recall?: RecallOptions | undefined;
  /** The other tools of the request, by name: where `session_search` is one, the model is told that it finds what was summarised. */
  tools?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Why the prompt was rendered anew: there was none, a compaction rewrote the history, the provider no longer keeps the
 * prefix, blocks were added or removed, or too much was told since.
 */
export type RefreshReason = "first" | "compaction" | "idle" | "blocks" | "size";

/** A request to a model, without the tools. */
export interface TurnRequest<M extends SessionMessage = SessionMessage> {
  /** The frozen prompt. */
  readonly system: string;
  /** The visible history, oldest first; what is told beside it is the last text part of a user's message, or of a summary. */
  readonly messages: M[];
  /** The blocks whose change this turn tells for the first time. */
  readonly changes: readonly ContextBlock[];
  /** Quotes of the user's memory that this turn shows for the first time, by where it stands, and what that costs. */
  readonly recalled: Recalled<RecalledPlace>;
  readonly refreshed: false | RefreshReason;
  /** SHA-256, in hex, of tools, `system` and `messages`: equal for requests that are the same. */
  readonly prefixHash: string;
}

/** A turn that `prepareTurn` prepared. */
export type PreparedTurn<M extends SessionMessage = HistoryMessage, T = SessionTools> = TurnRequest<M> & {
  readonly tools: T;
  /**
   * Tells what others changed in the blocks since the turn was prepared, or since this was last called: a text for the model, to be
   * sent as a user's message before its next step. Null for nothing; what the model itself wrote by the tools it knows. The
   * next turn tells it again behind the user's message. Errors: those of the store.
   */
  update(): Promise<string | null>;
};

/** The options of `prepareTurn`, which all that is built on it takes too. */
export const PREPARE_TURN = defineOptions<PrepareTurnOptions>({
  messageId: check.rule("the id of a message, or null for the last one", (id) => id === null || typeof id === "string"),
  cacheTtl: check.amount("milliseconds"),
  onCorrupt: check.oneOf("skip", "throw"),
  recall: check.nested(RECALL),
  tools: check.rule("an object that holds tools by their names", isJsonObject),
});
