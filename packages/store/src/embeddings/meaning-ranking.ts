import { Recent, type SearchQuery } from "@stemma/model";
import type { RankEntries } from "../operations/memory/entries.js";
import { type RankMessages, rankByWords, searchOf } from "../operations/search/run-search.js";
import type { OpenStore } from "../sql/sql-store.js";
import type { ParsedEmbedder } from "./embedder.js";
import {
  type FindNearest,
  nearestByScan,
  nearestBySigns,
  nearestInEngine,
  rankByBoth,
  rankEntriesByBoth,
} from "./search-by-meaning.js";
import { findVectors, type Model, type VectorDialect, type VectorTable } from "./vector-bytes.js";

/** How long a search waits for the vector of its query before it does without, in milliseconds. */
const QUERY_PATIENCE = 5_000;

/** Characters of a query that are embedded, and how many queries' vectors are kept: pages of one search share it. */
const QUERY_LENGTH = 2_000;
const QUERIES_KEPT = 50;

export class MeaningRanking {
  readonly #queries = new Recent<Float32Array>(QUERIES_KEPT);

  constructor(
    private readonly open: OpenStore,
    private readonly dialect: VectorDialect,
    private readonly embedder: ParsedEmbedder,
    private readonly ended: AbortSignal,
  ) {}

  /** The ranking of messages for a query; null where the database holds no vector to compare with. Errors: `EMBEDDER_REPLACED`. */
  async messages(
    query: SearchQuery,
    model: Model,
    similarity: string | null,
    explain: boolean,
  ): Promise<RankMessages | null> {
    const nearest = await this.#findNearest("assistant_vectors", query, model, similarity);
    if (nearest === null) return null;
    return rankByBoth(rankByWords(this.open.sql, query, explain), nearest, this.embedder.weights, explain);
  }

  /** As `messages`, of entries. */
  async entries(query: SearchQuery, model: Model, similarity: string | null): Promise<RankEntries | null> {
    const nearest = await this.#findNearest("assistant_entry_vectors", query, model, similarity);
    if (nearest === null) return null;
    const { sql } = this.open;
    const byWords: RankEntries = (within, limit) => searchOf(sql).entries(query, within, limit);
    return rankEntriesByBoth(byWords, nearest, this.embedder.weights);
  }

  async #findNearest(
    table: VectorTable,
    query: SearchQuery,
    model: Model,
    similarity: string | null,
  ): Promise<FindNearest | null> {
    const claim = await this.open.runner.read(() => findVectors(model, table));
    if (claim === null) return null;
    const vector = await this.#embedQuery(query.text.slice(0, QUERY_LENGTH).toWellFormed());
    if (vector.length !== claim.dimensions) return null;
    const { dialect } = this;
    const { minSimilarity } = this.embedder;
    const wanted = { sql: this.open.sql, dialect, embedder: claim.no, query: vector, least: minSimilarity };
    if (similarity !== null) return nearestInEngine(wanted, similarity);
    return dialect.signs === null ? nearestByScan(wanted) : nearestBySigns(wanted, dialect.signs);
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
}
