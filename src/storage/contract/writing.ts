import type { SessionMessage } from "../../model/message.js";

/** Where an append attaches: `undefined` the active leaf, `null` a new root, otherwise a message id. */
export type ParentRef = string | null | undefined;

export interface AppendMessageOptions {
  /** The active leaf that the caller knows of, null for none. If it is another one, nothing is inserted. Default: any. */
  expectedLeaf?: string | null | undefined;
}

export interface MeasureOptions {
  /**
   * True: `visibleTokens` are measured in the same write where they are not known. Default: they are null then. A store need
   * not heed it.
   */
  readonly measured?: boolean | undefined;
}

export interface AppendResult {
  /** The ids that were not there before, in order. */
  readonly insertedIds: readonly string[];
  /** The id that a next message would continue from: the last one inserted, or the active leaf as it was. Null without one. */
  readonly lastId: string | null;
  /** Estimated tokens of the visible history up to there; null when it must be measured (`tokens`). */
  readonly visibleTokens: number | null;
  /** After a call with one message whose id was known: the message that is stored under that id. */
  readonly stored?: SessionMessage | null | undefined;
}

export interface UpsertResult {
  /** False when the id was known and its message was updated. */
  readonly inserted: boolean;
  /** Estimated tokens of the visible history; null when it must be measured (`tokens`). */
  readonly visibleTokens: number | null;
}
