import { foldLabel } from "@stemma/model";
import type { KeptWrite, Store } from "@stemma/store";
import { orderOf } from "@stemma/store";
import { WiredContextProvider } from "../context/providers/store-context.js";
import { SessionContext } from "../context/session-context.js";
import { Learner } from "../learning/learner.js";
import type { CompactorOptions } from "./compaction/compactor.js";
import { Compactor } from "./compaction/compactor.js";
import { DEFAULT_COMPACTION_TIMEOUT, withinTime } from "./compaction/time-limit.js";
import { promptStoreFor } from "./configure.js";
import { SessionEvents } from "./events.js";
import { storeNeeded } from "./host.js";
import { MessageWrites, type TogetherResult, writeOneByOne } from "./message-writes.js";
import type { SessionConfig } from "./options.js";
import type { SessionBackend, SessionProvider } from "./own-provider/provider.js";
import { providerBackend, providerSkillLog, storeSkillLog } from "./own-provider/provider-backend.js";
import { AgentSessionProvider, StoreSessionProvider } from "./own-provider/store-session-provider.js";
import { Titler } from "./titler.js";
import { memoryRecordsOf, TurnLog, type TurnRecords } from "./turn/log.js";
import { Turns } from "./turn/turns.js";
import { isReadOnly, type MemoryPlace, type Reverted, revertFrom } from "./undo/revert-from.js";

/** The parts of a session once it is used. */
export class SessionCore {
  /** The store that it is on; null on a provider that a user wrote. */
  readonly store: Store | null;
  /** The session's records. */
  readonly records: TurnRecords;
  readonly backend: SessionBackend;
  readonly events: SessionEvents;
  readonly context: SessionContext;
  readonly compactor: Compactor;
  readonly turns: Turns;
  readonly writes: MessageWrites;
  readonly expandableSummaries: boolean;
  /** Null without `onLearning()`. */
  readonly learner: Learner | null;
  readonly #titler: Titler | null;

  /** Puts a session together. Errors: those of `SessionContext`, `PROVIDER_REQUIRED`, `STORE_UNSUPPORTED`. */
  constructor(provider: SessionProvider, sessionId: string, config: SessionConfig) {
    const ours = provider instanceof StoreSessionProvider ? provider : null;
    const store = ours?.store ?? null;
    const { backend, skills } =
      ours === null ? ownBackend(provider, sessionId) : { backend: ours.backend, skills: storeSkillLog(ours.backend) };
    // A provider for an external database leaves the place of blocks and of the frozen prompt to the host.
    const wired = provider instanceof AgentSessionProvider ? provider.store : null;
    const events = new SessionEvents(provider instanceof AgentSessionProvider ? provider.host : null, sessionId);
    const context = new SessionContext({
      configs: [...config.context.values()],
      wire: wired && ((label, scope) => new WiredContextProvider(wired, { sessionId, kind: "block", label, scope })),
      promptStore: promptStoreFor(config.cachedPrompt, wired, sessionId),
      promptOrder:
        config.cachedPrompt === true && wired ? { queue: orderOf(wired), key: `render\0${sessionId}` } : undefined,
      open: async () => store?.migrate(),
      skills,
      sessionId,
      userId: store?.userId,
    });
    this.store = store;
    const memory = memoryRecordsOf(provider);
    this.records = store?.records ?? memory;
    this.backend = backend;
    this.events = events;
    this.context = context;
    this.expandableSummaries = config.expandableSummaries;
    const { learning, title: generate } = config;
    this.learner =
      learning && new Learner({ store: this.#needed("onLearning()"), backend, context, events, options: learning });
    this.#titler = generate && new Titler({ store: this.#needed("withTitle()"), backend, events, generate });
    const timeout = config.compactTimeout ?? DEFAULT_COMPACTION_TIMEOUT;
    const compacting: CompactorOptions = {
      store,
      compact: config.compact,
      timeout: { called: timeout, automatic: config.automaticTimeout ?? timeout },
      threshold: config.threshold,
      tokenCounter: config.tokenCounter,
      onError: config.onCompactionError,
      onStored: async () => this.learner?.run(),
    };
    this.compactor = new Compactor(
      store?.whole ?? store ?? provider,
      backend,
      context,
      events,
      compacting,
      this.records,
    );
    this.turns = new Turns({ backend, context, log: new TurnLog(store ?? memory, sessionId), store });
    this.writes = new MessageWrites({
      backend,
      events,
      compactor: this.compactor,
      followers: [this.turns, this.learner, this.#titler].filter((each) => each !== null),
      // Cleared now, in the order of the calls; the prompt follows. Where a block cannot be read in time, none is frozen any more.
      clear: () => {
        if (store === null) memory.clear();
        return context.prompt.renew(backend.clear(), (work) => withinTime(work, timeout, "A provider of the prompt"));
      },
    });
  }

  /**
   * Makes writes as `store.writeTogether` does, and what follows a write to the session's messages. Without a store the writes are
   * made one after the other, and those that a session cannot make fail with `STORE_UNSUPPORTED`.
   */
  together(writes: readonly KeptWrite[]): Promise<TogetherResult> {
    if (this.store === null) return writeOneByOne(this.writes, this.records, writes);
    return this.writes.together(this.store, writes);
  }

  /** Undoes what a message caused, as `revertFrom` of `undo/` does. Errors: `STORE_UNSUPPORTED` without a store. */
  async revertFrom(messageId: string, dryRun: boolean): Promise<Reverted> {
    const store = this.#needed("revertFrom()");
    const removeCompaction = (id: string) => this.writes.removeCompaction(id);
    const mayWrite = (text: MemoryPlace) => !isReadOnly(this.context.live.all, text);
    const parts = { store, session: store.session(this.backend.id), mayWrite, removeCompaction };
    const reverted = await revertFrom(parts, messageId, dryRun);
    const labels = [...reverted.blocks, ...reverted.entries].map(({ label }) => label);
    if (!dryRun) await readAfterWrite(this.context, labels);
    return reverted;
  }

  /** Rewinds messages and blocks, as `SessionStore.rewindTo` does. Errors: `STORE_UNSUPPORTED` without a store. */
  async rewindTo(messageId: string): Promise<void> {
    const own = { session: this.backend.id };
    const labels = this.context.live.all.flatMap((block) => block.entryPlaces.map(({ entries }) => entries.label));
    const isKept = (label: string) => isReadOnly(this.context.live.all, { owner: own, label, key: "" });
    await this.writes.rewindTo(messageId, labels.filter(isKept));
    await readAfterWrite(this.context, null);
  }

  /** Learns from what is new, and waits for a name, where either is configured. Never fails. */
  async finish(): Promise<void> {
    await Promise.all([this.learner?.run(), this.#titler?.settled()]);
  }

  /** Forgets whatever is known of a session that was deleted. Who is subscribed stays so. */
  reset(): void {
    this.context.reset();
    this.compactor.reset();
  }

  // What writes to records and several blocks at once is a store's alone.
  #needed(what: string): Store {
    if (this.store === null) throw storeNeeded(what);
    return this.store;
  }
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
