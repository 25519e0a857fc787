import { reasonOf } from "@stemma/model";
import type { SkippedEdit } from "../learning/apply.js";
import type { LearnEdit } from "../learning/edits.js";

/** An event that a session reports to `subscribe`. Every change is reported after it is stored. */
export type SessionEvent =
  | { readonly type: "messages"; readonly change: MessageChange; readonly ids: readonly string[] }
  | SessionLearningEvent
  | SessionTitleEvent
  | SessionStatusEvent
  | SessionErrorEvent;

/** `clear` has no ids; `leaf` the new one, or none; `compaction` and `compaction_removed` the compaction's. */
export type MessageChange = "append" | "update" | "delete" | "clear" | "leaf" | "compaction" | "compaction_removed";

/** A session has learned from the conversation: the edits, and those that were left out and why. */
export interface SessionLearningEvent {
  readonly type: "learning";
  readonly edits: readonly LearnEdit[];
  readonly skipped: readonly SkippedEdit[];
}

/** The session was named by `manager.withTitles()`. */
export interface SessionTitleEvent {
  readonly type: "title";
  readonly name: string;
}

/** Also sent, as JSON, through the `broadcast` method of the agent that the session was created on. */
export interface SessionStatusEvent {
  readonly type: "cf_agent_session";
  readonly phase: "idle" | "compacting";
  readonly tokenEstimate: number;
  /** Null without `compactAfter`. */
  readonly tokenThreshold: number | null;
  /** Present once, after a compaction was stored. */
  readonly compacted?: { readonly tokensBefore: number };
}

export interface SessionErrorEvent {
  readonly type: "cf_agent_session_error";
  readonly error: string;
}

export type SessionListener = (event: SessionEvent) => void;

interface Broadcaster {
  broadcast(text: string): unknown;
}

/** One session's listeners. A listener that throws is reported as an unhandled error and disturbs nobody else. */
export class SessionEvents {
  private readonly listeners = new Set<SessionListener>();
  /** Those of ours, which are for no person. */
  private readonly watchers = new Set<SessionListener>();
  private readonly broadcaster: Broadcaster | null;
  #warned = false;

  constructor(
    host: unknown,
    private readonly sessionId: string,
  ) {
    const broadcast = (host as Partial<Broadcaster> | null)?.broadcast;
    this.broadcaster = typeof broadcast === "function" ? (host as Broadcaster) : null;
  }

  /** True when anybody would notice an event. */
  get observed(): boolean {
    return this.listeners.size > 0 || this.broadcaster !== null;
  }

  /** Calls `listener` with every later event; the result ends that. */
  subscribe(listener: SessionListener): () => void {
    return addedTo(this.listeners, listener);
  }

  /** Subscribes code of ours that follows the messages: the session does and says no more than without it. */
  watch(listener: SessionListener): () => void {
    return addedTo(this.watchers, listener);
  }

  /**
   * Tells of what failed behind a call that did not. Unless someone is subscribed, or it is `heard` otherwise, the first such
   * error of a session is a warning on the console.
   */
  emitError(error: unknown, heard = false): void {
    this.emit({ type: "cf_agent_session_error", error: reasonOf(error) });
    if (heard || this.observed || this.#warned) return;
    this.#warned = true;
    const session = `Session "${this.sessionId}": ${reasonOf(error)}`;
    console.warn(`${session} (Nobody listens, so later errors of this session are not shown: call subscribe().)`);
  }

  emit(event: SessionEvent): void {
    if (event.type.startsWith("cf_") && this.broadcaster !== null) {
      const { broadcaster } = this;
      guarded(() => broadcaster.broadcast(JSON.stringify(event)));
    }
    for (const listeners of [this.listeners, this.watchers]) {
      for (const listener of listeners) guarded(() => listener(event));
    }
  }
}

function addedTo(listeners: Set<SessionListener>, listener: SessionListener): () => void {
  // The same function may be subscribed twice.
  const own: SessionListener = (event) => listener(event);
  listeners.add(own);
  return () => {
    listeners.delete(own);
  };
}

// What is stored is stored: an observer's failure must not look like a failed write.
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
