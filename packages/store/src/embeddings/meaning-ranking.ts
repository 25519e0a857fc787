import type { SearchQuery } from "@stemma/model";
import { Distribution, Queue, Recent } from "@stemma/model";
import { all, type Operation, type SqlValue } from "../engine/operation.js";
import { type RankMessages, rankByWords } from "../operations/search/run-search.js";
import type { OpenStore } from "../sql/sql-store.js";
import type { ParsedEmbedder } from "./embedder.js";
import { MemoryIndex, type Near } from "./memory-index.js";
import {
  type FindNearest,
  nearestBySigns,
  nearestInEngine,
  rankByBoth,
  type Wanted,
  within,
} from "./search-by-meaning.js";
import { createBest, findVectors, type Model, product, type VectorDialect } from "./vector-bytes.js";

/** How much memory vectors may take, in bytes. */
const MEMORY = 64_000_000;

/** How long a search waits for the vector of its query before it does without, in milliseconds. */
const QUERY_PATIENCE = 5_000;

/** Characters of a query that are embedded, and how many queries' vectors are kept: pages of one search share it. */
const QUERY_LENGTH = 2_000;
const QUERIES_KEPT = 50;

export class MeaningRanking {
  readonly #queries = new Recent<Float32Array>(QUERIES_KEPT);
  #memory: MemoryIndex | null = null;
  readonly #loading = new Queue();

  constructor(
    private readonly open: OpenStore,
    private readonly dialect: VectorDialect,
    private readonly embedder: ParsedEmbedder,
    private readonly ended: AbortSignal,
    private readonly memory = MEMORY,
  ) {}

  /** The ranking for a query; null where the database holds no vector to compare with. Errors: `EMBEDDER_REPLACED`. */
  async rank(
    query: SearchQuery,
    model: Model,
    similarity: string | null,
    explain: boolean,
  ): Promise<RankMessages | null> {
    const claim = await this.open.runner.read(() => findVectors(model));
    if (claim === null) return null;
    const { no: sessionNumber, dimensions } = claim;
    const vector = await this.#embedQuery(query.text.slice(0, QUERY_LENGTH).toWellFormed());
    if (vector.length !== dimensions) return null;
    const { weights } = this.embedder;
    const nearest = await this.#findNearest(similarity, sessionNumber, vector);
    return rankByBoth(rankByWords(this.open.sql, query, explain), nearest, weights, explain);
  }

  async #findNearest(similarity: string | null, embedder: number, query: Float32Array): Promise<FindNearest> {
    const { dialect } = this;
    const wanted = { sql: this.open.sql, dialect, embedder, query, least: this.embedder.minSimilarity };
    if (similarity !== null) return nearestInEngine(wanted, similarity);
    if (dialect.signs !== null) return nearestBySigns(wanted, dialect.signs);
    return nearestInMemory(wanted, await this.#load(embedder, query.length));
  }

  async #embedQuery(text: string): Promise<Float32Array> {
    const known = this.#queries.get(text);
    if (known !== undefined) return known;
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(new Error(`no answer within ${QUERY_PATIENCE} ms`)), QUERY_PATIENCE);
    try {
      const signal = AbortSignal.any([patience.signal, this.ended]);
      const [vector] = (await this.embedder.embed([text], signal)) as [Float32Array];
      this.#queries.set(text, vector);
      return vector;
    } finally {
      clearTimeout(timer);
    }
  }

  // Searches that come together load one after the other; others are served between pages.
  #load(embedder: number, dimensions: number): Promise<MemoryIndex> {
    return this.#loading.write("", async () => {
      if (this.#memory?.embedder !== embedder) {
        this.#memory = new MemoryIndex(embedder, dimensions, this.memory);
      }
      const memory = this.#memory;
      while (await this.open.runner.read(() => memory.load(this.dialect)))
        await new Promise((resolve) => setTimeout(resolve));
      return memory;
    });
  }
}

/** Of a range whose vectors are not all in memory: how many are read, the newest. */
const READ_OF_RANGE = 5_000;

/**
 * Every vector is compared, in memory, where all fit. Where they do not: of the whole store the newest, which are in
 * memory, of a range its newest 5,000, which are read; and in either case those of the best messages by words.
 */
function nearestInMemory({ sql, dialect, embedder, query, least }: Wanted, memory: MemoryIndex): FindNearest {
  return function* (range, limit, words) {
    const best = createBest<Near>(limit, least);
    let alike = new Distribution();
    const looked = new Set<number>();
    const add = (near: Near): void => {
      if (!looked.has(near.n)) best.add(near);
      looked.add(near.n);
    };
    const compare = function* (usual: Distribution | null, rows: string, ...values: SqlValue[]): Operation<void> {
      const select = `SELECT v.id AS id, v.n AS n, ${dialect.read} AS vector FROM ${rows}`;
      const found = yield* all<{ id: number; n: number; vector: unknown }>(select, ...values);
      for (const { id, n: rowId, vector } of found) {
        const score = product(query, dialect.decode(vector));
        usual?.add(score);
        add({ id, n: rowId, score });
      }
    };
    const { isWhole } = memory;
    if (isWhole || range === null) {
      const inMemory = yield* memory.nearest(sql, query, range, limit, least);
      for (const near of inMemory.near) add(near);
      ({ alike } = inMemory);
    } else {
      const { condition, values } = within(sql, range);
      const newest = `assistant_vectors v WHERE ${condition} AND +v.embedder = ? AND v.vector IS NOT NULL ORDER BY v.n DESC LIMIT ${READ_OF_RANGE}`;
      yield* compare(alike, newest, ...values, embedder);
    }
    if (!isWhole) {
      const numbers = words.filter(({ n: rowId }) => !looked.has(rowId)).map(({ n: rowId }) => [0, rowId, rowId]);
      // Those are more alike than usual.
      const numbered = `${sql.segmentTable} AS s CROSS JOIN assistant_vectors v WHERE v.n = s.lo AND v.embedder = ? AND v.vector IS NOT NULL`;
      yield* compare(null, numbered, JSON.stringify(numbers), embedder);
    }
    return { ranked: best.take(), mean: alike.mean, deviation: alike.deviation };
  };
}
