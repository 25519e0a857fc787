import type { SearchQuery } from "@stemma/model";
import { once, StemmaError } from "@stemma/model";
import type { EntryScope, FoundEntry, SearchEntriesOptions, SearchHit, SearchRequest } from "../contract/store.js";
import type { Operation } from "../engine/operation.js";
import type { OpenStore } from "../sql/sql-store.js";
import { BackgroundWorker, report } from "./background-worker.js";
import {
  type Before,
  countWaiting,
  type Page,
  readPage,
  readWaiting,
  readWaitingEntries,
  type Waiting,
  waitingKey,
} from "./backlog.js";
import type { ParsedEmbedder } from "./embedder.js";
import { MeaningRanking } from "./search-by-meaning.js";
import { type Embedded, storeEntryVectors, storeVectors } from "./store-vectors.js";
import { type Model, migrateVectors, type VectorDialect } from "./vector-bytes.js";
export interface EmbedOptions {
  /** How often to look for what other processes wrote, in milliseconds. Default 60,000; null sets no timer for it. */
  readonly interval?: number | null;
  /** Keeps the host alive until a promise settles. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

const INTERVAL = 60_000;

const CLOSED =
  "The store was closed while messages still waited for their vectors; the next one that is opened goes on.";

/** How long a text that the embedder refused is left alone, in milliseconds. */
const REFUSAL = 600_000;

export class EmbeddingIndexer {
  readonly background: BackgroundWorker;
  readonly #queue: ScanQueue;
  readonly #ended = new AbortController();
  readonly #refused = new Map<number | string, { readonly text: string; readonly until: number }>();
  #own: number | null = null;
  readonly #prepare = once(() => this.#makeTables());
  readonly #ranking: MeaningRanking;

  constructor(
    private readonly open: OpenStore,
    private readonly dialect: VectorDialect,
    private readonly embedder: ParsedEmbedder,
    options: EmbedOptions,
  ) {
    const { interval = INTERVAL } = options;
    this.#queue = new ScanQueue(interval ?? INTERVAL);
    this.#ranking = new MeaningRanking(open, dialect, embedder, this.#ended.signal);
    this.background = new BackgroundWorker({
      step: () => this.#step(),
      onError: embedder.onError,
      retryDelay: embedder.retryDelay,
      interval,
      waitUntil: options.waitUntil,
    });
  }

  /** Begins soon to embed entries that were written. */
  wroteEntries(): void {
    this.background.wake();
  }

  /** Begins soon to embed what was written to a session. */
  wrote(sessionId: string): void {
    this.#queue.add(sessionId);
    this.background.wake();
  }

  async stop(): Promise<void> {
    this.#ended.abort(new Error("the store was closed"));
    await this.background.stop();
  }

  async backlog(): Promise<number> {
    await this.#prepare();
    return this.open.runner.read(() => countWaiting(this.open.sql, this.#model));
  }

  async flush(): Promise<void> {
    await this.#prepare();
    this.#refused.clear();
    this.#queue.scan();
    await this.background.finish();
    if (this.#ended.signal.aborted) throw new StemmaError("STORE_CLOSED", { store: this.open.store.name }, CLOSED);
    if (this.#refused.size === 0) return;
    const details = { id: this.embedder.id, texts: this.#refused.size };
    const message = `The embedder "${details.id}" refuses ${details.texts} texts of messages or entries, which are found by their words only.`;
    throw new StemmaError("EMBEDDER_FAILED", details, message);
  }

  get #model(): Model {
    return { id: this.embedder.id, dimensions: this.embedder.dimensions, own: this.#own };
  }

  async #makeTables(): Promise<{ readonly similarity: string | null }> {
    await this.open.runner.write(() => migrateVectors(this.open.sql, this.dialect), "idempotent");
    const { findSimilarity } = this.dialect;
    return { similarity: findSimilarity === null ? null : await this.open.runner.read(findSimilarity) };
  }

  async #step(): Promise<boolean> {
    await this.#prepare();
    const size = await this.embedder.batchSize();
    const before = this.#queue.nextPage();
    if (before !== null) this.#queue.addPage(await this.open.runner.read(() => readPage(this.open.sql, before)));
    const sessions = this.#queue.next();
    const { fresh, old, done } = await this.open.runner.read(() =>
      readWaiting(this.open.sql, this.#model, sessions, size, this.#refused.size),
    );
    this.#queue.remove(done);
    const entries = await this.open.runner.read(() =>
      readWaitingEntries(this.open.sql, this.#model, size + this.#refused.size),
    );
    const again = [...old, ...entries].filter((waiting) => !this.#isRefused(waiting));
    const batch = [...fresh, ...again].slice(0, size);
    if (batch.length === 0) return !this.#queue.isEmpty;
    const embedded = await this.#embedBatch(batch);
    const dimensions = this.embedder.dimensions ?? embedded.find(hasVector)?.vector.length ?? (await this.#measure());
    this.#own = await this.open.runner.write(() => this.#store({ ...this.#model, dimensions }, embedded), "idempotent");
    return true;
  }

  *#store(model: Model & { readonly dimensions: number }, embedded: readonly Embedded[]): Operation<number> {
    const { dialect, open } = this;
    const messages = embedded.filter(({ isEntry }) => isEntry !== true);
    const embedder = yield* storeVectors(open.sql, dialect, model, messages);
    const entries = embedded.filter(({ isEntry }) => isEntry === true);
    yield* storeEntryVectors(open.sql, dialect, embedder, entries);
    return embedder;
  }

  // A text that the embedder refuses does not keep others from being embedded: when it still answers, each is tried by itself.
  async #embedBatch(batch: readonly Waiting[]): Promise<Embedded[]> {
    const { signal } = this.#ended;
    const texts = batch.filter(({ text, twin }) => text !== "" && twin === null);
    const vectors = new Map<number | string, Float32Array | "refused">();
    try {
      const found =
        texts.length === 0
          ? []
          : await this.embedder.embed(
              texts.map(({ text }) => text),
              signal,
            );
      for (const [index, message] of texts.entries()) vectors.set(waitingKey(message), found[index] as Float32Array);
    } catch (error) {
      if (this.background.lastError === null || signal.aborted) throw error;
      await this.#measure();
      for (const message of texts) {
        const { text } = message;
        const found = await this.embedder.embed([text], signal).catch(() => null);
        vectors.set(waitingKey(message), found?.[0] ?? "refused");
        if (found === null) this.#refused.set(waitingKey(message), { text, until: performance.now() + REFUSAL });
      }
      report(this.embedder.onError, error);
    }
    return batch.map((message) => ({ ...message, vector: vectors.get(waitingKey(message)) ?? null }));
  }

  /** The number of dimensions, of an embedder that answers. */
  async #measure(): Promise<number> {
    const [vector] = await this.embedder.embed(["a"], this.#ended.signal);
    return (vector as Float32Array).length;
  }

  #isRefused(message: Waiting): boolean {
    const key = waitingKey(message);
    const refused = this.#refused.get(key);
    if (refused === undefined) return false;
    if (refused.text === message.text && refused.until > performance.now()) return true;
    this.#refused.delete(key);
    return false;
  }

  async search(query: SearchQuery, request: SearchRequest): Promise<SearchHit[]> {
    const { explain = false } = request;
    const rank = await this.#rank(query, (similarity) =>
      this.#ranking.messages(query, this.#model, similarity, explain),
    );
    return this.open.search(query, request, rank);
  }

  async searchEntries(
    userId: string | undefined,
    scope: EntryScope,
    query: SearchQuery,
    options: SearchEntriesOptions,
  ): Promise<FoundEntry[]> {
    const rank = await this.#rank(query, (similarity) => this.#ranking.entries(query, this.#model, similarity));
    return this.open.searchEntries(userId, scope, query, options, rank);
  }

  // Undefined where there is nothing to compare: then words alone decide.
  async #rank<R>(query: SearchQuery, rankBy: (similarity: string | null) => Promise<R | null>): Promise<R | undefined> {
    try {
      if (query.words.length === 0 && query.runs.length === 0) return undefined;
      return (await rankBy((await this.#prepare()).similarity)) ?? undefined;
    } catch (error) {
      report(this.embedder.onError, error);
      return undefined;
    } finally {
      this.background.wake();
    }
  }
}

const hasVector = (result: Embedded): result is Embedded & { vector: Float32Array } =>
  result.vector instanceof Float32Array;

/** How many sessions are looked at together. */
const AT_ONCE = 16;

/**
 * The sessions to look at for new messages: those that this store wrote to, and those that a scan finds. A scan reads all
 * sessions, page by page: at the start, when asked for, and when the last one is `every` milliseconds past, since others
 * write too. So what an append causes does not grow with the number of sessions.
 */
class ScanQueue {
  readonly #written = new Set<string>();
  /** The last to be looked at first. */
  readonly #open = new Set<string>();
  /** The scan has the sessions before it that were registered before this one; null when there is none under way. */
  #before: Before | null = null;
  /** When the next scan begins. */
  #due = 0;

  constructor(private readonly every: number) {}

  add(sessionId: string): void {
    this.#written.add(sessionId);
  }

  /** Has a scan begin, anew if one is under way. */
  scan(): void {
    this.#due = 0;
  }

  /** The session before which to read a page of the scan; null while there are enough to look at, and when no scan is due. */
  nextPage(): Before | null {
    if (performance.now() >= this.#due) {
      this.#before = { registered: Number.MAX_SAFE_INTEGER, id: "" };
      this.#due = Number.POSITIVE_INFINITY;
    }
    const isEnough = this.#written.size + this.#open.size >= AT_ONCE;
    return isEnough ? null : this.#before;
  }

  addPage({ sessions, before }: Page): void {
    for (const id of sessions.toReversed()) this.#open.add(id);
    this.#before = before;
    if (before === null) this.#due = Math.min(this.#due, performance.now() + this.every);
  }

  /** The sessions to look at now, the last written first. They stay until `remove`. */
  next(): string[] {
    for (const id of this.#written) {
      this.#open.delete(id);
      this.#open.add(id);
    }
    this.#written.clear();
    return [...this.#open].slice(-AT_ONCE).reverse();
  }

  /** Takes off sessions in which nothing was new; one that was written to since is looked at again. */
  remove(sessionIds: readonly string[]): void {
    for (const id of sessionIds) this.#open.delete(id);
  }

  get isEmpty(): boolean {
    return this.#written.size + this.#open.size === 0 && this.#before === null;
  }
}
