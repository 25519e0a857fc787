import type { SessionMessage } from "@stemma/model";
import { foldLabel } from "@stemma/model";
import type { KeptWrite, Store } from "@stemma/store";
import { orderOf } from "@stemma/store";
import { WiredContextProvider } from "../context/providers/store-context.js";
import { SessionContext } from "../context/session-context.js";
import { Learner } from "../learning/learning-run.js";
import type { CompactorOptions } from "./compaction/compaction-work.js";
import { Compactor } from "./compaction/compactor.js";
import { DEFAULT_COMPACTION_TIMEOUT, withinTime } from "./compaction/time-limit.js";
import { promptStoreFor } from "./configure.js";
import { SessionEvents } from "./events.js";
import { storeNeeded } from "./host.js";
import { MessageWrites, type TogetherResult } from "./message-writes.js";
import { writeOneByOne } from "./one-by-one.js";
import type { SessionConfig } from "./options.js";
import type { SessionBackend, SessionProvider } from "./own-provider/provider.js";
import { providerBackend, providerSkillLog, storeSkillLog } from "./own-provider/provider-backend.js";
import { AgentSessionProvider, StoreSessionProvider } from "./own-provider/store-session-provider.js";
import { Titler } from "./titler.js";
import { memoryRecordsOf, TurnLog, type TurnRecords } from "./turn/log.js";
import { Turns } from "./turn/turns.js";
import type { Reverted } from "./undo/revert-from.js";
import { revertFrom } from "./undo/revert-from.js";

/** The parts of a session once it is used. */
export interface SessionCore {
  readonly backend: SessionBackend;
  readonly writes: MessageWrites;
  /** Errors: `STORE_CLOSED`. */
  open(): Promise<void>;
  readonly context: SessionContext;
  readonly compactor: Compactor;
  readonly events: SessionEvents;
  readonly turns: Turns;
  /** The session's records. */
  readonly records: TurnRecords;
  /** The store that it is on; null on a provider that a user wrote. */
  readonly store: Store | null;
  /**
   * `store.writeTogether`, and what follows a write to the session's messages. Without a store the writes are made one after the
   * other, and those that a session cannot make fail with `STORE_UNSUPPORTED`.
   */
  together(writes: readonly KeptWrite[]): Promise<TogetherResult>;
  /** Undoes what a message caused, as `revertFrom` of `undo/` does. Errors: `STORE_UNSUPPORTED` without a store. */
  revertFrom(messageId: string, dryRun: boolean): Promise<Reverted>;
  /** Rewinds messages and blocks, as `SessionStore.rewindTo` does. Errors: `STORE_UNSUPPORTED` without a store. */
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
  const store = kept?.store ?? null;
  const open = async (): Promise<void> => store?.migrate();
  const { backend, skills } =
    kept === null ? ownBackend(provider, sessionId) : { backend: kept.backend, skills: storeSkillLog(kept.backend) };
  // A provider for an external database leaves the place of blocks and of the frozen prompt to the host.
  const wired = provider instanceof AgentSessionProvider ? provider.store : null;
  const events = new SessionEvents(provider instanceof AgentSessionProvider ? provider.host : null, sessionId);
  const context = new SessionContext({
    configs: [...config.context.values()],
    wire: wired && ((label, scope) => new WiredContextProvider(wired, { sessionId, kind: "block", label, scope })),
    promptStore: promptStoreFor(config.cachedPrompt, wired, sessionId),
    promptOrder:
      config.cachedPrompt === true && wired ? { queue: orderOf(wired), key: `render\0${sessionId}` } : undefined,
    open,
    skills,
    sessionId,
    userId: store?.userId,
  });
  // What writes to records and several blocks at once is a store's alone.
  const inStore = (what: string) => {
    if (kept === null) throw storeNeeded(what);
    return { store: kept.store, backend: kept.backend };
  };
  const { learning, title: generate } = config;
  const learner = learning && new Learner({ ...inStore("onLearning()"), context, events, options: learning });
  const learn = async (): Promise<void> => learner?.run();
  const titler = generate && new Titler({ ...inStore("withTitle()"), events, generate });
  const timeout = config.compactTimeout ?? DEFAULT_COMPACTION_TIMEOUT;
  const records = store?.records ?? memoryRecordsOf(provider);
  const compacting: CompactorOptions = {
    store,
    compact: config.compact,
    timeout: { called: timeout, automatic: config.automaticTimeout ?? timeout },
    threshold: config.threshold,
    tokenCounter: config.tokenCounter,
    onError: config.onCompactionError,
    onStored: learn,
  };
  const compactor = new Compactor(store?.whole ?? store ?? provider, backend, context, events, compacting, records);
  // Cleared now, in the order of the calls; the prompt follows. Where a block cannot be read in time, none is frozen any more.
  const clear = (): Promise<void> => {
    if (kept === null) memoryRecordsOf(provider).clear();
    return context.prompt.renew(backend.clear(), (work) => withinTime(work, timeout, "A provider of the prompt"));
  };
  const log = new TurnLog(store ?? memoryRecordsOf(provider), sessionId);
  const turns = new Turns({ backend, context, log, store });
  const wrote = (messages: readonly SessionMessage[]): void => {
    turns.wrote(messages);
    learner?.wrote();
    titler?.wrote(messages);
  };
  const writes = new MessageWrites({ backend, events, compactor, wrote, clear });
  return {
    backend,
    writes,
    open,
    context,
    compactor,
    events,
    turns,
    records,
    store,
    together: (written) => (store === null ? writeOneByOne(writes, records, written) : writes.together(store, written)),
    async revertFrom(messageId, dryRun) {
      const { store } = inStore("revertFrom()");
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
    async finish() {
      await Promise.all([learn(), titler?.settled()]);
    },
    expandableSummaries: config.expandableSummaries,
    reset() {
      context.reset();
      compactor.reset();
    },
  };
}

// Of the blocks with these labels; null for all.
async function readAfterWrite(context: SessionContext, labels: readonly string[] | null): Promise<void> {
  const written = labels === null ? null : new Set(labels.map(foldLabel));
  const blocks = context.live.all.filter(({ folded }) => written === null || written.has(folded));
  await Promise.all(blocks.map((block) => block.readAfterWrite()));
}

function ownBackend(provider: SessionProvider, sessionId: string) {
  const skills = providerSkillLog(provider);
  return { backend: providerBackend(provider, sessionId, skills), skills };
}
