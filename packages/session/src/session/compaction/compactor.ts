// Automatic compaction, whole: when it is due, what it asks for, and when it pauses.
import {
  type CompactContext,
  type CompactFunction,
  type CompactResult,
  decodeJson,
  digestMessage,
  digestRange,
  encodeJson,
  estimateMessageTokens,
  estimateTokensInPieces,
  inPieces,
  invalid,
  isSummaryMessage,
  mapped,
  perObject,
  type SessionMessage,
  StemmaError,
  SUMMARY_ID_PREFIX,
  summaryMessage,
} from "@stemma/model";
import { observed, type RecordScope, type Store, TURNS } from "@stemma/store";
import type { SessionContext } from "../../context/session-context.js";
import type { SessionEvents } from "../events.js";
import type { SessionBackend } from "../own-provider/provider.js";
import type { TurnRecords } from "../turn/log.js";
import { withinTime } from "./time-limit.js";
import { type Size, TokenCount, type TokenCounter } from "./token-count.js";

/** After so many automatic attempts in a row that gained nothing, the trigger rests for longer. */
const MAX_IN_VAIN = 3;

/** Decides when a session compacts. */
export class Compactor {
  readonly #pause: CompactionPause;
  readonly #runs: CompactionRuns<Outcome>;
  readonly #work: CompactionWork;
  #inVain = 0;
  readonly #reported = new Set<string>();

  /** `owner` is what several objects for one session have in common: the store, or the provider. */
  constructor(
    owner: object,
    private readonly backend: SessionBackend,
    context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
    records: TurnRecords,
  ) {
    this.#pause = new CompactionPause(records, backend.id);
    this.#runs = new CompactionRuns(owner, backend.id);
    this.#work = new CompactionWork(backend, context, events, options, this.#runs, this.#pause);
  }

  /** Compacts, as `Session.compact` does. Callers at the same time share one run for a path. */
  async run(leafId: string | undefined): Promise<CompactResult | null> {
    const { compact, timeout } = this.options;
    if (compact === null) throw notConfigured();
    return (await this.#share(leafId, compact, timeout.called, null)).stored;
  }

  /** True when a write is followed by a look at the size of the visible history, as it is estimated. */
  get estimates(): boolean {
    const { threshold, tokenCounter } = this.options;
    return tokenCounter === null && (threshold !== null || this.events.observed);
  }

  /** Compacts when the history has outgrown the threshold. Never fails: the write it follows is stored. */
  async afterWrite(visibleTokens: number | null): Promise<void> {
    const { threshold, compact, timeout } = this.options;
    if (threshold === null && !this.events.observed) return;
    // What was counted before a compaction ended says nothing of what is there now; and whoever writes while one runs does
    // not wait for it: that may be the compact function itself.
    const { begun } = this.#pause;
    const isFree = () => this.#pause.begun === begun && !this.#runs.any;
    try {
      const size = await this.#work.count.ofActivePath(visibleTokens);
      const { tokens } = size;
      this.#work.report("idle", tokens);
      this.#pause.saw(size);
      if (threshold === null || tokens <= threshold) return;
      if (compact === null) return await this.#tellOnce(notConfigured());
      if (!isFree() || (await this.#pause.isOn(size)) || !isFree()) return;
      await this.#settle(await this.#share(undefined, compact, timeout.automatic, tokens), size, threshold);
    } catch (error) {
      await this.#work.fail(error);
    }
  }

  /** Tells whoever listens how large the history is now, after a change that never compacts. */
  async afterChange(): Promise<void> {
    if (!this.events.observed) return;
    try {
      this.#work.report("idle", (await this.#work.count.ofActivePath(null)).tokens);
    } catch (error) {
      await this.#work.fail(error);
    }
  }

  /** Forgets how earlier compactions went: the conversation they were of is gone. */
  reset(): void {
    this.#pause.end();
    this.#inVain = 0;
    this.#reported.clear();
  }

  // After an automatic compaction. One that was stored has begun a pause itself.
  async #settle({ ending, kept }: Outcome, size: Size, threshold: number): Promise<void> {
    if (ending === "stale") {
      this.#inVain = 0;
      return;
    }
    this.#inVain = ending === "stored" ? 0 : this.#inVain + 1;
    const isEnough = this.#inVain === MAX_IN_VAIN;
    if (isEnough) this.#inVain = 0;
    const needed = (isEnough ? Math.max(threshold, kept.tail) : threshold) / 2;
    // Where there was nothing to compact, and where it failed, the next write may find it otherwise.
    if (ending === "fruitless" || isEnough) await this.#pause.begin(size, needed);
    const hasRoom = ending === "stored" ? kept.tokens <= threshold / 2 : kept.prompt + kept.head <= threshold;
    if (hasRoom && !isEnough) return;
    if (hasRoom) await this.#work.fail(noGain(size.tokens, threshold, needed));
    else await this.#tellOnce(noRoom(kept, threshold));
  }

  async #tellOnce(error: StemmaError): Promise<void> {
    if (this.#reported.has(error.code)) return;
    this.#reported.add(error.code);
    await this.#work.fail(error);
  }

  #share(leafId: string | undefined, compact: CompactFunction, timeout: number, counted: number | null) {
    const { backend, options } = this;
    const call = { type: "compaction", name: "compact", sessionId: backend.id } as const;
    return this.#runs.share(leafId, (run) =>
      observed(options.store, call, async () => {
        const { messages } = await backend.path({ leafId });
        return runCompaction(this.#work, { run, messages, compact, timeout, counted });
      }),
    );
  }
}

function notConfigured(): StemmaError {
  const message =
    "Give the session a compact function first: session.onCompaction(createCompactFunction({ summarize })).";
  return new StemmaError("COMPACTION_NOT_CONFIGURED", {}, message);
}

/** After compactions in a row that stored nothing; the next one comes after `needed` tokens of new text. */
function noGain(tokens: number, threshold: number, needed: number): StemmaError {
  const message = `Three compactions in a row did not shrink the history; the next one is tried after ${Math.round(needed)} tokens of new text.`;
  return new StemmaError("COMPACTION_NO_GAIN", { tokens, threshold }, message);
}

/** After one that leaves less than half of the threshold free. */
function noRoom(kept: Kept, threshold: number): StemmaError {
  // A counter of the host's may give fractions.
  const [tokens, prompt] = [Math.round(kept.tokens), Math.round(kept.prompt)];
  const { head, summary, tail } = kept;
  const what =
    kept.prompt + head > threshold
      ? `The prompt and the first messages, which are never summarised, alone exceed compactAfter(${threshold})`
      : `After a compaction there are ${tokens} tokens, more than half of compactAfter(${threshold})`;
  const parts = `prompt ${prompt}; as estimated, first messages ${head}, summary ${summary}, last messages ${tail}`;
  const message = `${what}: ${parts}. Automatic compaction pauses: there is at most one for each ${threshold / 2} tokens of new text. Raise the threshold, or keep less: a shorter prompt, a smaller protectHead or tailTokenBudget.`;
  return new StemmaError("COMPACTION_NO_ROOM", { threshold, ...kept }, message);
}

/** Called with what a compaction failed with; what it throws itself is dropped. */
export type CompactionErrorHandler = (error: unknown) => void | Promise<void>;

export interface CompactorOptions {
  /** The store of the session; null where a provider of the host's keeps it. */
  readonly store: Store | null;
  readonly compact: CompactFunction | null;
  /** How long the function may take, in milliseconds: when `compact()` is called, and after a write. */
  readonly timeout: { readonly called: number; readonly automatic: number };
  /** Tokens above which a write compacts; null never. */
  readonly threshold: number | null;
  readonly tokenCounter: TokenCounter | null;
  readonly onError: CompactionErrorHandler | null;
  /** Runs after a compaction was stored, before the prompt is rendered anew. Never fails. */
  readonly onStored: () => Promise<void>;
}

/** How a compaction ended. */
interface Outcome {
  readonly stored: CompactResult | null;
  /**
   * Of what was not stored: the summary was not worth it, the function had nothing to compact, it failed, or the history
   * changed under it.
   */
  readonly ending: "stored" | "fruitless" | "nothing" | "failed" | "stale";
  /** The tokens that a request holds now. */
  readonly kept: Kept;
}

/** Tokens of a request: of all of it, and of its parts. Those of messages are estimated. */
interface Kept {
  readonly tokens: number;
  /** With what the counter of the host's adds. */
  readonly prompt: number;
  /** The messages before the summary; where none was stored, those that are never summarised. */
  readonly head: number;
  readonly summary: number;
  readonly tail: number;
}

/** The parts that compactions of one session work with, and tell of. */
class CompactionWork {
  readonly count: TokenCount;

  constructor(
    readonly backend: SessionBackend,
    readonly context: SessionContext,
    readonly events: SessionEvents,
    readonly options: CompactorOptions,
    readonly runs: CompactionRuns<Outcome>,
    readonly pause: CompactionPause,
  ) {
    const { tokenCounter, timeout } = options;
    this.count = new TokenCount(backend, context, tokenCounter, (error) => this.fail(error), timeout.automatic);
  }

  /** Tells listeners how large the history is. */
  report(phase: "idle" | "compacting", tokenEstimate: number, compacted?: { tokensBefore: number }): void {
    if (!this.events.observed) return;
    const { threshold } = this.options;
    this.events.emit({
      type: "cf_agent_session",
      phase,
      tokenEstimate,
      tokenThreshold: threshold,
      ...(compacted === undefined ? {} : { compacted }),
    });
  }

  /** Tells listeners and the handler of an error. Never fails. */
  async fail(error: unknown): Promise<void> {
    this.events.emitError(error, this.options.onError !== null);
    try {
      await this.options.onError?.(error);
    } catch {
      // The documents say so: a handler's own failure must not reach the caller of a write that is stored.
    }
  }
}

/** A compaction under way. */
interface CompactionRun<T> {
  readonly sessionId: string;
  /** The leaf that it was asked for; undefined for the active one. */
  readonly asked: string | undefined;
  /** The message that the history it summarises ends with; null until that is read. */
  leafId: string | null;
  readonly result: Promise<T>;
}

// By what several session objects have in common: the store, or the provider.
const underWay = perObject((_owner: object) => new Set<CompactionRun<unknown>>());

/** The compactions of one session that are under way in this process, whichever object began them. */
class CompactionRuns<T> {
  readonly #all: Set<CompactionRun<T>>;

  constructor(
    owner: object,
    private readonly sessionId: string,
  ) {
    this.#all = underWay(owner) as Set<CompactionRun<T>>;
  }

  get any(): boolean {
    return this.#find(() => true) !== undefined;
  }

  /** Gives the run that was asked for the same, or begins one, which ends with `work` or with `end`. */
  share(asked: string | undefined, work: (run: CompactionRun<T>) => Promise<T>): Promise<T> {
    const same = this.#find((run) => run.asked === asked);
    if (same !== undefined) return same.result;
    let settle = (_result: Promise<T>): void => {};
    const result = new Promise<T>((resolve) => {
      settle = resolve;
    });
    const run: CompactionRun<T> = { sessionId: this.sessionId, asked, leafId: null, result };
    this.#all.add(run);
    settle(work(run).finally(() => this.end(run)));
    return result;
  }

  /** The other run that summarises the beginning of this path, or all of it: what it stores shows on this path too. */
  onPath(own: CompactionRun<T>, path: readonly { id: string }[]): CompactionRun<T> | undefined {
    return this.#find((run) => run !== own && path.some(({ id }) => id === run.leafId));
  }

  /** Calls from now on begin a run of their own. */
  end(run: CompactionRun<T>): void {
    this.#all.delete(run);
  }

  #find(matches: (run: CompactionRun<T>) => boolean): CompactionRun<T> | undefined {
    return [...this.#all].find((run) => run.sessionId === this.sessionId && matches(run));
  }
}

/** How large the session was, and how many tokens have to come anew. */
interface Rest {
  readonly since: Size;
  readonly needed: number;
}

const KEY = "compaction";

/**
 * When the automatic trigger rests: after a compaction, until as much new text as it says has come, by the host's counter or
 * by the estimate. Kept in the session's records, because each request of a server may come with a session object of its own.
 */
class CompactionPause {
  /** How many pauses began. */
  begun = 0;
  #rest: Rest | null = null;
  /** Of the record that was last read or written. */
  #version = 0;
  readonly #scope: RecordScope;

  constructor(
    private readonly records: TurnRecords,
    sessionId: string,
  ) {
    this.#scope = { sessionId, label: TURNS };
  }

  /** Notes how large the session is now: what was deleted since, or left for another branch, comes anew. */
  saw(now: Size): void {
    if (this.#rest === null) return;
    const { since, needed } = this.#rest;
    const least = { tokens: Math.min(since.tokens, now.tokens), messages: Math.min(since.messages, now.messages) };
    this.#rest = { since: least, needed };
  }

  /** Asks the records only where this object knows of no pause. Errors: those of the store. */
  async isOn(now: Size): Promise<boolean> {
    if (this.#rests(now)) return true;
    const { begun } = this;
    const record = await this.records.get(this.#scope, KEY);
    if (begun !== this.begun) return true;
    if (record === null || record.version === this.#version) return false;
    this.#version = record.version;
    this.#rest = decodeJson(record.value) as Rest;
    this.saw(now);
    return this.#rests(now);
  }

  /** Begins a pause until `needed` tokens have come anew. Errors: those of the store. */
  async begin(since: Size, needed: number): Promise<void> {
    this.begun += 1;
    this.#rest = { since, needed };
    this.#version = (await this.records.set(this.#scope, KEY, encodeJson(this.#rest))).version;
  }

  end(): void {
    this.#rest = null;
  }

  #rests({ tokens, messages }: Size): boolean {
    if (this.#rest === null) return false;
    const { since, needed } = this.#rest;
    return tokens - since.tokens < needed && messages - since.messages < needed;
  }
}

/** The input of a compaction. */
interface Asked {
  readonly run: CompactionRun<Outcome>;
  /** The visible history. */
  readonly messages: SessionMessage[];
  readonly compact: CompactFunction;
  readonly timeout: number;
  /** The tokens before it, where the trigger counted them. */
  readonly counted: number | null;
}

const NOTHING_THERE: Outcome = {
  stored: null,
  ending: "stale",
  kept: { tokens: 0, prompt: 0, head: 0, summary: 0, tail: 0 },
};

/**
 * Compacts: asks the compact function, stores what it gives under a guard, and renders the prompt anew. Errors: those of the store, `COMPACTION_INVALID_RANGE`.
 */
async function runCompaction(
  work: CompactionWork,
  { run, messages, compact, timeout, counted }: Asked,
): Promise<Outcome> {
  const leafId = messages.at(-1)?.id;
  if (leafId === undefined) return NOTHING_THERE;
  const other = work.runs.onPath(run, messages);
  if (other !== undefined) return other.result;
  run.leafId = leafId;
  const seen: Seen = { messages, digests: await inPieces(mapped(messages, digestMessage)), leafId };
  const tokensBefore = counted ?? (work.events.observed ? await work.count.of([...messages]) : null);
  work.report("compacting", tokensBefore ?? 0);
  const context = await work.count.compactContext(work.options.threshold);
  const { answer, failure, isEmpty } = await askCompact(compact, [...messages], context, timeout);
  const head = messages.slice(0, compact.protectHead ?? 0);
  const prompt = context.promptTokens ?? 0;
  const before = await keptOf(tokensBefore ?? 0, prompt, { head, summary: [], tail: messages.slice(head.length) });
  let after: SessionMessage[] | null = null;
  try {
    const stored = answer === null ? null : await storeSummary(work.backend, answer, seen);
    if (stored === null) {
      const isNothing = answer === null && !isEmpty;
      const ending = failure !== null ? "failed" : isNothing ? "nothing" : "fruitless";
      return { stored: null, ending, kept: before };
    }
    after = [...stored.head, stored.summary, ...stored.tail];
    const tokens = await restAfter(work, run, after);
    // What blocks and listeners do from here on may well ask for another compaction.
    work.runs.end(run);
    work.events.emit({ type: "messages", change: "compaction", ids: [stored.id] });
    await work.options.onStored();
    await refreshPrompt(work, timeout);
    const kept = await keptOf(tokens, prompt, { ...stored, summary: [stored.summary] });
    return { stored: stored.result, ending: "stored", kept };
  } catch (error) {
    // Another process was faster, or the range was edited: what is there now stands.
    if (!StemmaError.isInstance(error, "COMPACTION_STALE")) throw error;
    return { stored: null, ending: "stale", kept: before };
  } finally {
    await reportEnd(work, seen, tokensBefore, after);
    if (failure !== null) await work.fail(failure.error);
  }
}

// Of a compacted path begins the pause of the automatic trigger, whoever asked for it. Gives the tokens that there are now.
async function restAfter(
  work: CompactionWork,
  { asked }: CompactionRun<Outcome>,
  after: readonly SessionMessage[],
): Promise<number> {
  const { threshold } = work.options;
  if (threshold === null || asked !== undefined) return 0;
  const tokens = await work.count.of([...after]);
  try {
    await work.pause.begin({ tokens, messages: await estimateTokensInPieces(after) }, threshold / 2);
  } catch (error) {
    await work.fail(error);
  }
  return tokens;
}

// The provider's cached prefix ends at the summary anyway. The compaction is stored, whatever becomes of this.
async function refreshPrompt(work: CompactionWork, timeout: number): Promise<void> {
  const { prompt } = work.context;
  const refresh = async () => {
    if ((await prompt.known()) !== null) await prompt.refresh();
  };
  try {
    await withinTime(refresh(), timeout, "A provider of the prompt");
  } catch (error) {
    await work.fail(error);
  }
}

// Counts what was read before, with the summary in it: reading once more could fail a call whose summary is stored.
async function reportEnd(
  work: CompactionWork,
  seen: Seen,
  counted: number | null,
  after: readonly SessionMessage[] | null,
): Promise<void> {
  if (!work.events.observed) return;
  const tokensBefore = counted ?? (await work.count.of([...seen.messages]));
  if (after === null) work.report("idle", tokensBefore);
  else work.report("idle", await work.count.of([...after]), { tokensBefore });
}

async function keptOf(
  tokens: number,
  prompt: number,
  parts: Readonly<Record<"head" | "summary" | "tail", readonly SessionMessage[]>>,
): Promise<Kept> {
  const head = await estimateTokensInPieces(parts.head);
  const summary = await estimateTokensInPieces(parts.summary);
  return { tokens, prompt, head, summary, tail: await estimateTokensInPieces(parts.tail) };
}

/** The answer of a compact function, or its failure. */
interface CompactAnswer {
  readonly answer: CompactResult | null;
  readonly failure: { readonly error: unknown } | null;
  /** True when it asked a model, which answered nothing. */
  readonly isEmpty: boolean;
}

/** Calls a compact function, which may fail, give no answer in time, or one that is none. */
async function askCompact(
  compact: CompactFunction,
  messages: SessionMessage[],
  context: CompactContext,
  timeout: number,
): Promise<CompactAnswer> {
  let isEmpty = false;
  const onEmptyAnswer = () => {
    isEmpty = true;
  };
  try {
    const given = Promise.resolve(compact(messages, { ...context, onEmptyAnswer }));
    return { answer: checkedResult(await withinTime(given, timeout)), failure: null, isEmpty };
  } catch (error) {
    return { answer: null, failure: { error }, isEmpty };
  }
}

function checkedResult(given: CompactResult | null | undefined): CompactResult | null {
  if (given === null || given === undefined) return null;
  const { fromMessageId, toMessageId, summary } = given;
  if ([fromMessageId, toMessageId, summary].every((field) => typeof field === "string")) return given;
  throw invalid("A compact function resolves to { fromMessageId, toMessageId, summary }, three texts, or to null.");
}

/** A visible history as it was read, and what its messages said then: a compact function may change what it is given. */
interface Seen {
  readonly messages: readonly SessionMessage[];
  readonly digests: readonly string[];
  readonly leafId: string;
}

/** A compaction that was stored, and the visible history with it: the summary, and what stands before and behind it. */
interface StoredSummary {
  readonly id: string;
  readonly result: CompactResult;
  readonly head: SessionMessage[];
  readonly summary: SessionMessage;
  readonly tail: SessionMessage[];
}

/**
 * Stores what a compact function gave, if it is worth it; null where it is not. Errors:
 * `COMPACTION_STALE` when the range says something else now, `COMPACTION_INVALID_RANGE`.
 */
async function storeSummary(
  backend: SessionBackend,
  answer: CompactResult,
  { messages, digests, leafId }: Seen,
): Promise<StoredSummary | null> {
  // A model may stop in the middle of a character, which no store keeps.
  const summary = answer.summary.replaceAll("\0", "").toWellFormed();
  if (summary.trim() === "") return null;
  const { from, to } = await rangeOf(backend, answer, messages);
  const range = messages.slice(from, to + 1);
  const replaced = await estimateTokensInPieces(range);
  if (replaced <= estimateMessageTokens(summaryMessage({ id: "", summary }))) return null;
  const [fromMessageId, toMessageId] = [(range[0] as SessionMessage).id, (range.at(-1) as SessionMessage).id];
  const expect = { leafId, digest: digestRange(digests.slice(from, to + 1)) };
  const compaction = await backend.addCompaction(
    { id: crypto.randomUUID(), summary, fromMessageId, toMessageId },
    expect,
  );
  return {
    id: compaction.id,
    result: { fromMessageId: compaction.fromMessageId, toMessageId: compaction.toMessageId, summary },
    head: messages.slice(0, from),
    summary: summaryMessage(compaction),
    tail: messages.slice(to + 1),
  };
}

// Where in the visible history the range lies. It begins with the earliest summary at the latest, so that one remains.
async function rangeOf(
  backend: SessionBackend,
  { fromMessageId, toMessageId }: CompactResult,
  messages: readonly SessionMessage[],
): Promise<{ from: number; to: number }> {
  const from = await placeOf(backend, fromMessageId, messages);
  const to = await placeOf(backend, toMessageId, messages);
  if (from < 0 || to < from) {
    const message = `A summary cannot cover "${fromMessageId}" to "${toMessageId}": the compact function was not given that range.`;
    const details = { sessionId: backend.id, fromMessageId, toMessageId };
    throw new StemmaError("COMPACTION_INVALID_RANGE", details, message);
  }
  const earliest = messages.findIndex(isSummaryMessage);
  return { from: earliest < 0 ? from : Math.min(earliest, from), to };
}

// A function that keeps ids by itself may name a message that lies under a summary by now.
async function placeOf(backend: SessionBackend, id: string, messages: readonly SessionMessage[]): Promise<number> {
  const visible = messages.findIndex((message) => message.id === id);
  if (visible >= 0) return visible;
  for (const [index, message] of messages.entries()) {
    if (!isSummaryMessage(message)) continue;
    const under = await backend.originals(message.id.slice(SUMMARY_ID_PREFIX.length));
    if (under.some((original) => original.id === id)) return index;
  }
  return -1;
}
