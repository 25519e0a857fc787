import type { Ranked } from "../../model/rank.js";
import { fuseRankings, withReasons } from "../../model/reciprocal-rank-fusion.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, type SqlValue } from "../engine/operation.js";
import type { RankMessages } from "../operations/search/search.js";
import type { Scope } from "../operations/search/search-scope.js";
import { createBest, type MemoryIndex, type Near, product } from "./memory-index.js";
import type { VectorDialect } from "./vectors.js";

/** The messages of a range that are most alike to a query, best first, each above `least`; `words` are the best ones by words. */
export type FindNearest = (range: Scope["range"], limit: number, words: readonly Ranked[]) => Operation<Ranked[]>;

/** Ranks by words and by vectors together. */
export function rankByBoth(
  byWords: RankMessages,
  findNearest: FindNearest,
  weights: { readonly words: number; readonly vectors: number },
  explain = false,
): RankMessages {
  return function* (range, depth) {
    const words = yield* byWords(range, depth);
    const near = yield* findNearest(range, depth, words.ranked);
    const fused = fuseRankings([
      { ranked: words.ranked, weight: weights.words },
      { ranked: near, weight: weights.vectors },
    ]);
    return {
      ranked: explain ? withReasons(fused, words.ranked, near) : fused,
      complete: words.complete && near.length < depth,
    };
  };
}

const EVERYWHERE = [0, Number.MAX_SAFE_INTEGER] as const;

/** Every vector of the range is compared, by an extension of the engine. */
export function nearestInEngine(
  dialect: VectorDialect,
  similarity: string,
  embedder: number,
  query: Float32Array,
  least: number,
): FindNearest {
  return function* (range, limit) {
    const rows = yield* all<Ranked>(
      `SELECT v.n AS n, ${similarity} AS score FROM assistant_vectors v
       WHERE v.embedder = ? AND v.vector IS NOT NULL AND v.n BETWEEN ? AND ? ORDER BY score DESC, n DESC LIMIT ?`,
      dialect.encode(query),
      embedder,
      ...(range ?? EVERYWHERE),
      limit,
    );
    return rows.filter(({ score }) => score > least);
  };
}

/** Of a range whose vectors are not all in memory: how many are read, the newest. */
const READ_OF_RANGE = 5_000;

/**
 * Every vector is compared, in memory, where all fit. Where they do not: of the whole store the newest, which are in
 * memory, of a range its newest 5,000, which are read; and in either case those of the best messages by words.
 */
export function nearestInMemory(
  sql: Dialect,
  dialect: VectorDialect,
  memory: MemoryIndex,
  query: Float32Array,
  least: number,
): FindNearest {
  return function* (range, limit, words) {
    const best = createBest(limit, least);
    const found = new Set<number>();
    const add = ({ id, n: rowId, score }: Near): void => {
      if (!found.has(rowId)) best.add(id, rowId, score);
      found.add(rowId);
    };
    const compare = function* (rows: string, ...values: SqlValue[]): Operation<void> {
      const select = `SELECT v.id AS id, v.n AS n, ${dialect.read} AS vector FROM ${rows}`;
      for (const { id, n: rowId, vector } of yield* all<{ id: number; n: number; vector: unknown }>(
        select,
        ...values,
      )) {
        add({ id, n: rowId, score: product(query, dialect.decode(vector)) });
      }
    };
    const { isWhole, embedder } = memory;
    if (isWhole || range === null) {
      for (const near of yield* memory.nearest(sql, query, range ?? EVERYWHERE, limit, least)) add(near);
    } else {
      const newest = "assistant_vectors v WHERE v.n BETWEEN ? AND ? AND +v.embedder = ? AND v.vector IS NOT NULL";
      yield* compare(`${newest} ORDER BY v.n DESC LIMIT ${READ_OF_RANGE}`, ...range, embedder);
    }
    if (!isWhole) {
      const numbers = words.filter(({ n: rowId }) => !found.has(rowId)).map(({ n: rowId }) => [0, rowId, rowId]);
      yield* compare(
        `${sql.segmentTable} AS s CROSS JOIN assistant_vectors v WHERE v.n = s.lo AND v.embedder = ? AND v.vector IS NOT NULL`,
        JSON.stringify(numbers),
        embedder,
      );
    }
    return best.take();
  };
}
