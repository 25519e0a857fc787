import type { SessionMessage, SkillState } from "@stemma/model";
import type { NewCompaction } from "./compactions.js";
import type { NewSession } from "./session-registry.js";

/** A session as a file holds it: parents before their children. */
export interface ImportedTree {
  readonly messages: readonly ImportedMessage[];
  /** With true, a message whose id is already stored fails the call with `SESSION_CONFLICT`. Default: false; it is left alone. */
  readonly onlyNew?: boolean | undefined;
  /** Oldest first; one whose id is already stored is left alone. */
  readonly compactions?: readonly ImportedCompaction[] | undefined;
  /** Null for none. Default: the last message. */
  readonly activeLeafId?: string | null | undefined;
  /** The session's registry entry, made when there is none yet. */
  readonly session?: Omit<NewSession, "id"> | undefined;
  /** Which skills it has loaded and unloaded. Default: as it is. */
  readonly skills?: SkillState | undefined;
  /** The session's usage, counted when nothing is counted yet. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number } | undefined;
}

export interface ImportedCompaction extends NewCompaction {
  /** ISO time. Default: now. */
  readonly createdAt?: string | undefined;
  /** The estimated tokens that it covered when it was made elsewhere. Default: those that it covers now. */
  readonly coveredTokens?: number | undefined;
}

export interface ImportedMessage {
  readonly message: SessionMessage;
  readonly parentId: string | null;
  /** ISO time at which it was stored elsewhere. Default: now. */
  readonly storedAt?: string | undefined;
}
