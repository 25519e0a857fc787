// One run of learning, whole: what it reads, what it asks, and which edits it stores.
import {
  decodeJson,
  encodeJson,
  estimateMessageTokens,
  foldLabel,
  isoTime,
  reasonOf,
  type SessionMessage,
  StemmaError,
} from "@stemma/model";
import { type KeptWrite, LEARNING, type RecordScope, type Store } from "@stemma/store";
import type { SessionContext } from "../context/session-context.js";
import { answerWithin, type Waiters } from "../session/compaction/time-limit.js";
import type { SessionEvents } from "../session/events.js";
import type { SessionBackend } from "../session/own-provider/provider.js";
import { type Lease, takeLease } from "../session/run-record.js";
import { type AppliedEdits, applyEdits } from "./apply.js";
import type { LearnEdit, LearnEntry, LearnRequest } from "./edits.js";
import { forgottenOf } from "./forgotten.js";
import type { LearnFunction, LearnResult, LearnUsage } from "./learn.js";
import { describeBlocks, entriesFor, keptWrites, learnableBlocks, presentText, readMemory } from "./memory-view.js";

/** Messages are passed over once the function has failed with them so often. */
const MAX_FAILURES = 3;
/** How often edits are applied anew because someone else wrote to a block. */
const MAX_ATTEMPTS = 10;

export interface LearnerOptions {
  readonly learn: LearnFunction;
  /** Milliseconds without a message after which a chat is idle; `Infinity` for never. */
  readonly idleAfter: number;
  /** Milliseconds that the function may take. */
  readonly timeout: number;
  /** Labels of the blocks to learn into; null for all that the session's store keeps. */
  readonly blocks: readonly string[] | null;
}

/** The parts that learning works on. */
export interface LearnParts {
  readonly store: Store;
  readonly backend: SessionBackend;
  readonly context: SessionContext;
  readonly events: SessionEvents;
  readonly options: LearnerOptions;
  readonly waiters: Waiters;
}

/** How far it was learned, in which version of the record, and the right to go on. */
interface Progress {
  readonly state: LearnState;
  readonly version: number;
  readonly lease: Lease;
}

/** The outcome of a run of learning. */
export interface Learned {
  readonly messages: number;
  readonly edits: number;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number };
  /** How often the learn function was called and told no cost. */
  readonly untold: number;
  /** The error that it failed with; null when it did not. */
  readonly failure: unknown;
}

/** The bounds of a run of learning. */
export interface LearnLimits {
  /** Whether the learn function may be called, after what was done so far. */
  readonly mayAsk?: (done: Learned) => boolean;
  /** False: leaves a session that another process seems to learn from. */
  readonly waits?: boolean;
  /** Whoever called is told of what fails. */
  readonly isHeard?: boolean;
}

/** One run of learning: everything that is new, batch by batch, while nobody else learns from the session. */
export class LearningRun {
  readonly #log: LearnLog;
  #done: Learned = {
    messages: 0,
    edits: 0,
    usage: { inputTokens: 0, outputTokens: 0, cost: 0 },
    untold: 0,
    failure: null,
  };

  constructor(private readonly parts: LearnParts) {
    this.#log = new LearnLog(parts.store, parts.backend.id);
  }

  /** Learns, until nothing is left or a limit is reached. Listeners are told of what the learn function fails with. Errors: those of the store. */
  async learnAll({ mayAsk = () => true, waits = true, isHeard = false }: LearnLimits = {}): Promise<Learned> {
    const { store, backend } = this.parts;
    // A session that was deleted is not registered anew.
    while (
      mayAsk(this.#done) &&
      (await store.sessions.get(backend.id)) !== null &&
      (await this.#learnSome(waits, isHeard))
    );
    return this.#done;
  }

  /** The messages that there are to learn from, oldest first; none where no user wrote since. */
  async news(): Promise<readonly SessionMessage[]> {
    const { state } = await this.#log.state();
    const messages = await unlearnedMessages(this.parts.backend, state.learned);
    return messages.some(({ role }) => role === "user") ? messages : [];
  }

  // True when there is more.
  async #learnSome(waits: boolean, isHeard: boolean): Promise<boolean> {
    const lease = await this.#log.lease(this.parts.waiters, waits);
    if (lease === null) return false;
    try {
      const { state, version } = await this.#log.state();
      const messages = await unlearnedMessages(this.parts.backend, state.learned);
      const batch = firstBatch(messages);
      if (!messages.some(({ role }) => role === "user")) return false;
      const isPassedOver = state.failures >= MAX_FAILURES;
      const progress = { state, version, lease };
      const answer = isPassedOver ? NOTHING : await this.#ask(batch, progress, isHeard);
      if (answer === null) return false;
      if (!(await this.#apply(answer, batch, progress, isHeard))) return false;
      this.#done = { ...this.#done, messages: this.#done.messages + batch.length };
      return batch.length < messages.length;
    } finally {
      await lease.release();
    }
  }

  // Null when the function failed, of which listeners are told.
  async #ask(messages: readonly SessionMessage[], progress: Progress, isHeard: boolean): Promise<Answer | null> {
    const blocks = this.#blocks();
    // A continuation's first message tells what was learned from before.
    const news = messages.filter(
      ({ metadata }) => (metadata as { summaryOf?: unknown } | undefined)?.summaryOf === undefined,
    );
    if (blocks.length === 0 || !news.some(({ role }) => role === "user")) return NOTHING;
    const request = {
      messages: news,
      blocks: await describeBlocks(blocks),
      entries: await entriesFor(blocks, news),
    };
    try {
      const answer = await this.#answer(request);
      const { edits, usage } = Array.isArray(answer) ? { edits: answer } : ((answer ?? {}) as Partial<LearnResult>);
      await this.#count(usage);
      if (Array.isArray(edits)) return { edits, shown: request.entries };
      throw new StemmaError(
        "LEARNING_FAILED",
        {},
        "A learn function resolves to an array of edits, or to { edits, usage }.",
      );
    } catch (error) {
      const spent = StemmaError.isInstance(error, "LEARNING_FAILED") ? error.details.usage : undefined;
      if (spent !== undefined) await this.#count(spent as LearnUsage);
      await this.#failed(error, progress, isHeard);
      return null;
    }
  }

  async #failed(error: unknown, { state, version, lease }: Progress, isHeard: boolean): Promise<void> {
    this.#done = { ...this.#done, failure: error };
    this.parts.events.emitError(error, isHeard);
    await this.#write([this.#log.failed(state, version)], lease);
  }

  // At once: whatever becomes of the edits, the model was paid.
  async #count(told: LearnUsage | undefined): Promise<void> {
    const { inputTokens = 0, outputTokens = 0, cost } = told ?? {};
    const { usage, untold } = this.#done;
    const sum = {
      inputTokens: usage.inputTokens + inputTokens,
      outputTokens: usage.outputTokens + outputTokens,
      cost: usage.cost + (cost ?? 0),
    };
    this.#done = { ...this.#done, usage: sum, untold: untold + (cost === undefined ? 1 : 0) };
    if (told === undefined) return;
    await this.parts.store.sessions.addUsage(this.parts.backend.id, inputTokens, outputTokens, cost ?? 0, LEARNING);
  }

  #answer(request: LearnRequest): Promise<readonly LearnEdit[] | LearnResult> {
    const { learn, timeout } = this.parts.options;
    const timeoutMessage = `The learn function gave no answer within ${timeout} ms. Pass onLearning(learn, { timeout }) to wait longer.`;
    return answerWithin((async () => learn(request))(), timeout, timeoutMessage, this.parts.waiters);
  }

  // False where nothing was stored.
  async #apply(
    { edits, shown }: Answer,
    messages: readonly SessionMessage[],
    progress: Progress,
    isHeard: boolean,
  ): Promise<boolean> {
    const { state, version, lease } = progress;
    const blocks = this.#blocks();
    const ids = messages.map(({ id }) => id);
    const dates = new Map(messages.map(({ id, createdAt }) => [id, isoTime(createdAt)]));
    const impossible = new Map<string, string>();
    for (let attempt = 1; ; attempt += 1) {
      const view = await readMemory(blocks, edits, shown, (id) => dates.get(id) ?? null);
      const isForgotten = await forgottenOf(this.parts.store, this.parts.backend.id, edits, (version) =>
        presentText(blocks, view, version),
      );
      const applied = applyEdits(edits, { ...view, shown, messages: dates, isForgotten, impossible });
      const writes = keptWrites(applied.writes, view, blocks, this.parts.backend.id);
      try {
        const isWritten = await this.#write([...writes, this.#log.next(state, ids, version)], lease);
        if (isWritten) await this.#report(applied, edits.length);
        return isWritten;
      } catch (error) {
        if (!isConflict(error)) throw error;
        // The first time, somebody may have changed what it was read beside.
        const key = attempt === 1 ? undefined : refusedKey(error, applied);
        if (key !== undefined) impossible.set(key, reasonOf(error));
        if (attempt < MAX_ATTEMPTS) continue;
        await this.#failed(error, progress, isHeard);
        return false;
      }
    }
  }

  // False where someone else has learned from these messages meanwhile, and where their session was deleted.
  async #write(writes: readonly KeptWrite[], lease: Lease): Promise<boolean> {
    try {
      await lease.write(writes);
      return true;
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
      throw error;
    }
  }

  async #report({ writes, skipped }: AppliedEdits, given: number): Promise<void> {
    if (given === 0) return;
    this.#done = { ...this.#done, edits: this.#done.edits + writes.length };
    const labels = new Set(writes.map(({ label }) => label));
    for (const block of this.#blocks()) if (labels.has(block.label)) await block.readAfterWrite();
    this.parts.events.emit({ type: "learning", edits: writes.map(({ edit }) => edit), skipped });
  }

  #blocks() {
    const { blocks } = this.parts.options;
    const wanted = blocks === null ? null : new Set(blocks.map(foldLabel));
    const all = learnableBlocks(this.parts.context.live.all, this.parts.store);
    return wanted === null ? all : all.filter(({ folded }) => wanted.has(folded));
  }
}

/** Edits, and the entries that the function saw. */
interface Answer {
  readonly edits: readonly LearnEdit[];
  readonly shown: readonly LearnEntry[];
}

const NOTHING: Answer = { edits: [], shown: [] };

const isConflict = (error: unknown) =>
  // A predecessor that is gone is an invalid one.
  (["BLOCK_CONFLICT", "ENTRY_CONFLICT", "INVALID_ARGUMENT"] as const).some((code) =>
    StemmaError.isInstance(error, code),
  );

// The entry whose write is impossible, as a circle and an end before the beginning are.
function refusedKey(error: unknown, { writes }: AppliedEdits): string | undefined {
  if (!StemmaError.isInstance(error, "INVALID_ARGUMENT")) return undefined;
  const { key, predecessor } = error.details;
  return [key, predecessor].flatMap((each) => writes.find((write) => write.key === each)?.key ?? [])[0];
}

/** How far a session was learned from. */
interface LearnState {
  /** The ids of the newest messages that were looked at, the latest first. */
  readonly learned: readonly string[];
  /** How often in a row the learn function failed with what comes next. */
  readonly failures: number;
}

const STATE = "state";

/** As many ids as a program may well delete or leave behind at once. */
const MOST_IDS = 64;

/** Keeps how far a session was learned from, in its records, and lets one process at a time learn. */
class LearnLog {
  readonly #scope: RecordScope;

  constructor(
    private readonly store: Store,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: LEARNING };
  }

  /** The state, and the version of it that `next` writes over. */
  async state(): Promise<{ state: LearnState; version: number }> {
    const record = await this.store.records.get(this.#scope, STATE);
    if (record === null) return { state: { learned: [], failures: 0 }, version: 0 };
    return { state: decodeJson(record.value) as LearnState, version: record.version };
  }

  /** The write of the state after messages were looked at, oldest first. */
  next({ learned, failures }: LearnState, messageIds: readonly string[], expectedVersion: number): KeptWrite {
    const ids = [...messageIds.toReversed(), ...learned].slice(0, MOST_IDS);
    return this.#write({ learned: ids, failures: messageIds.length === 0 ? failures : 0 }, expectedVersion);
  }

  /** The write of the state after the learn function failed. */
  failed({ learned, failures }: LearnState, expectedVersion: number): KeptWrite {
    return this.#write({ learned, failures: failures + 1 }, expectedVersion);
  }

  /** The right to learn; null while another process has it. */
  lease(waiters: Waiters, waits: boolean): Promise<Lease | null> {
    return takeLease(this.store, this.#scope, waiters, waits);
  }

  #write(state: LearnState, expectedVersion: number): KeptWrite {
    return { records: this.#scope, key: STATE, value: encodeJson(state), options: { expectedVersion } };
  }
}

/** The function is given messages of so many estimated tokens at once. */
const BATCH_TOKENS = 20_000;

/** Of a conversation that nothing was learned from yet, so many messages are looked at, the newest. */
const MOST = 1000;

const ORIGINALS = { newestFirst: true, summaries: false, onCorrupt: "skip", createdAt: true } as const;

/**
 * The stored messages of the active path that come after what was `learned`, oldest first. Of that the newest ids are known,
 * the latest first: some of them may be gone, or lie on another branch.
 */
async function unlearnedMessages(
  backend: Pick<SessionBackend, "stream">,
  learned: readonly string[],
): Promise<SessionMessage[]> {
  const known = new Set(learned);
  const found: SessionMessage[] = [];
  for await (const message of backend.stream(ORIGINALS)) {
    if (known.has(message.id)) return found.reverse();
    found.push(message);
    if (found.length === MOST) break;
  }
  // The path may have left the learned one further up than the known ids reach.
  const ancestors = await ancestorsOf(backend, learned);
  const end = found.findIndex(({ id }) => ancestors.has(id));
  return found.slice(0, end < 0 ? undefined : end).reverse();
}

// The path to the first of the messages that is still there.
async function ancestorsOf(backend: Pick<SessionBackend, "stream">, ids: readonly string[]): Promise<Set<string>> {
  const ancestors = new Set<string>();
  for (const leafId of ids) {
    try {
      for await (const { id } of backend.stream({ ...ORIGINALS, leafId })) ancestors.add(id);
      return ancestors;
    } catch (error) {
      if (!StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) throw error;
    }
  }
  return ancestors;
}

/** The messages that the function gets at once: the oldest, at least one. */
function firstBatch(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  let tokens = 0;
  const end = messages.findIndex((message, index) => {
    tokens += estimateMessageTokens(message);
    return index > 0 && tokens > BATCH_TOKENS;
  });
  return end < 0 ? messages : messages.slice(0, end);
}
