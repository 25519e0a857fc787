import type { PromptStore } from "../context/frozen-prompt.js";
import { isWritable } from "../context/provider.js";
import { WiredContextProvider } from "../context/providers/wired-context.js";
import { SessionContext } from "../context/session-context.js";
import { invalid, StemmaError } from "../errors.js";
import type { TitleFunction } from "../learning/title.js";
import { foldLabel } from "../model/fold-label.js";
import type { SessionMessage } from "../model/message.js";
import { storableText } from "../model/storable-text.js";
import { type KeptWrite, promptKey, type Store } from "../storage/contract.js";
import { orderOf } from "../storage/store-of.js";
import { AgentSessionProvider } from "./agent-session-provider.js";
import { Compactor } from "./compactor.js";
import { SessionEvents } from "./events.js";
import { lateProvider } from "./late-provider.js";
import { Learner } from "./learning/learner.js";
import type { LearnerOptions } from "./learning/learning-run.js";
import { MessageWrites } from "./message-writes.js";
import type { SessionConfig } from "./options.js";
import type { SessionBackend, SessionProvider } from "./provider.js";
import { storeSkillLog } from "./skill-log.js";
import { StoreSessionProvider } from "./store-session-provider.js";
import { DEFAULT_COMPACTION_TIMEOUT, withinTime } from "./time-limit.js";
import { Titler } from "./titler.js";
import { TurnLog, type TurnRecords } from "./turn/log.js";
import { memoryRecordsOf } from "./turn/memory-records.js";
import { Turns } from "./turn/turns.js";
import type { Reverted } from "./undo/reverted.js";

/** What stands behind a session once it is used. */
export interface SessionCore {
  readonly backend: SessionBackend;
  readonly writes: MessageWrites;
  /** Errors: `STORE_CLOSED`. */
  open(): Promise<void>;
  readonly context: SessionContext;
  readonly compactor: Compactor;
  readonly events: SessionEvents;
  readonly turns: Turns;
  /** What the session keeps beside its messages. */
  readonly records: TurnRecords;
  /** The store that it is on; null on a provider that a user wrote. */
  readonly store: Store | null;
  /** `store.writeTogether`, and what follows a write to the session's messages. Errors: `STORE_UNSUPPORTED` without a store. */
  together(writes: readonly KeptWrite[]): Promise<void>;
  /** See `revertFrom` of `undo/`. Errors: `STORE_UNSUPPORTED` without a store. */
  revertFrom(messageId: string, dryRun: boolean): Promise<Reverted>;
  /** See `SessionStore.rewindTo`. Errors: `STORE_UNSUPPORTED` without a store. */
  rewindTo(messageId: string): Promise<void>;
  /** Learns from what is new, and waits for a name, where either is configured. Never fails. */
  finish(): Promise<void>;
  readonly expandableSummaries: boolean;
  /** Forgets whatever is known of a session that was deleted. Who is subscribed stays so. */
  reset(): void;
}

/** Puts a session together. Errors: those of `SessionContext`, `PROVIDER_REQUIRED`. */
export function createCore(provider: SessionProvider, sessionId: string, config: SessionConfig): SessionCore {
  const kept = provider instanceof StoreSessionProvider ? provider : null;
  const open = async (): Promise<void> => kept?.store.migrate();
  const { backend, skills } =
    kept === null ? lateProvider(provider, sessionId) : { backend: kept.backend, skills: storeSkillLog(kept.backend) };
  // A provider for an external database leaves the place of blocks and of the frozen prompt to the host.
  const wired = provider instanceof AgentSessionProvider ? provider : null;
  const store = wired?.store ?? null;
  const events = new SessionEvents(wired?.host ?? null);
  const context = new SessionContext({
    configs: config.context,
    wire:
      store === null
        ? null
        : (label, scope) => new WiredContextProvider(store, { sessionId, kind: "block", label, scope }),
    promptStore: promptStoreFor(config.cachedPrompt, store, sessionId),
    promptOrder:
      config.cachedPrompt === true && store !== null
        ? { queue: orderOf(store), key: `render\0${sessionId}` }
        : undefined,
    open,
    skills,
    sessionId,
    userId: kept?.store.userId,
  });
  // What writes to records and several blocks at once is a store's alone.
  const inStore = (what: string): StoreSessionProvider => {
    if (kept !== null) return kept;
    const message = `${what} needs a session of a store; this one is kept by a SessionProvider of your own.`;
    throw new StemmaError("STORE_UNSUPPORTED", {}, message);
  };
  const learnerFor = (options: LearnerOptions): Learner => {
    const { store, backend } = inStore("onLearning()");
    return new Learner({ store, backend, context, events, options });
  };
  const titlerFor = (generate: TitleFunction): Titler => {
    const { store, backend } = inStore("withTitle()");
    return new Titler({ store, backend, events, generate });
  };
  const learner = config.learning === null ? null : learnerFor(config.learning);
  const learn = async (): Promise<void> => learner?.run();
  const titler = config.title === null ? null : titlerFor(config.title);
  const finish = async (): Promise<void> => {
    await Promise.all([learn(), titler?.settled()]);
  };
  const timeout = config.compactTimeout ?? DEFAULT_COMPACTION_TIMEOUT;
  const compactor = new Compactor(kept?.store.whole ?? kept?.store ?? provider, backend, context, events, {
    store: kept?.store ?? null,
    compact: config.compact,
    timeout: { called: timeout, automatic: config.automaticTimeout ?? timeout },
    threshold: config.threshold,
    tokenCounter: config.tokenCounter,
    onError: config.onCompactionError,
    onStored: () => learn(),
  });
  // Cleared now, in the order of the calls; the prompt follows. Where a block cannot be read in time, none is frozen any more.
  const clear = (): Promise<void> => {
    if (kept === null) memoryRecordsOf(provider).clear();
    return context.renewPrompt(backend.clear(), (work) => withinTime(work, timeout, "A provider of the prompt"));
  };
  const records = kept?.store.records ?? memoryRecordsOf(provider);
  const log = new TurnLog(records, sessionId);
  const turns = new Turns({ backend, context, log, store: kept?.store ?? null });
  const wrote = (messages: readonly SessionMessage[]): void => {
    turns.wrote(messages);
    learner?.wrote();
    titler?.wrote(messages);
  };
  const writes = new MessageWrites({ backend, events, compactor, wrote, clear });
  const reset = (): void => {
    context.reset();
    compactor.reset();
  };
  return {
    backend,
    writes,
    open,
    context,
    compactor,
    events,
    turns,
    records,
    store: kept?.store ?? null,
    together: async (written) => writes.together(inStore("This").store, written),
    async revertFrom(messageId, dryRun) {
      const { store } = inStore("revertFrom()");
      const { revertFrom } = await import("./undo/revert-from.js");
      const removeCompaction = (id: string) => writes.removeCompaction(id);
      const parts = { store, session: store.session(sessionId), removeCompaction };
      const reverted = await revertFrom(parts, messageId, dryRun);
      const labels = [...reverted.blocks, ...reverted.entries].map(({ label }) => label);
      if (!dryRun) await readAfterWrite(context, labels);
      return reverted;
    },
    async rewindTo(messageId) {
      await writes.rewindTo(messageId);
      await readAfterWrite(context, null);
    },
    finish,
    expandableSummaries: config.expandableSummaries,
    reset,
  };
}

// Of the blocks with these labels; null for all.
async function readAfterWrite(context: SessionContext, labels: readonly string[] | null): Promise<void> {
  const written = labels === null ? null : new Set(labels.map(foldLabel));
  const blocks = context.liveBlocks().filter(({ folded }) => written === null || written.has(folded));
  await Promise.all(blocks.map((block) => block.readAfterWrite()));
}

function promptStoreFor(
  cachedPrompt: SessionConfig["cachedPrompt"],
  store: Store | null,
  sessionId: string,
): PromptStore | null {
  if (cachedPrompt === false) return null;
  if (cachedPrompt === true) {
    if (store !== null) return storedPrompt(store, sessionId);
    const message = "This session has no store for the frozen prompt: call withCachedPrompt(provider).";
    throw new StemmaError("PROVIDER_REQUIRED", {}, message);
  }
  const bound = cachedPrompt.forSession?.(sessionId) ?? cachedPrompt;
  if (isWritable(bound)) return bound;
  throw invalid("withCachedPrompt() takes a provider with get() and set().");
}

function storedPrompt(store: Store, sessionId: string): PromptStore {
  const key = promptKey(sessionId);
  return {
    get: async () => (await store.blocks.get(key))?.content ?? null,
    // What blocks of other providers hold is not checked when it is written.
    set: (content, options) => store.blocks.set(key, storableText(content), options),
    drop: () => store.blocks.delete(key),
  };
}
