import { type CompactFunction, type CompactResult, decodeJson, encodeJson, perObject } from "@stemma/model";
import { type RecordScope, type Store, TURNS } from "@stemma/store";
import type { SessionContext } from "../../context/session-context.js";
import type { SessionEvents } from "../events.js";
import type { SessionBackend } from "../own-provider/provider.js";
import type { TurnRecords } from "../turn/log.js";
import { type Size, TokenCount, type TokenCounter } from "./token-count.js";
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
export interface Outcome {
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
export interface Kept {
  readonly tokens: number;
  /** With what the counter of the host's adds. */
  readonly prompt: number;
  /** The messages before the summary; where none was stored, those that are never summarised. */
  readonly head: number;
  readonly summary: number;
  readonly tail: number;
}

/** The parts that compactions of one session work with, and tell of. */
export class CompactionWork {
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
export interface CompactionRun<T> {
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
export class CompactionRuns<T> {
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
export class CompactionPause {
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
