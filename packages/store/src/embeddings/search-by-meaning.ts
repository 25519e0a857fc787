import type { Ranked } from "@stemma/model";
import { type ByMeaning, Distribution, fuseRankings, withReasons } from "@stemma/model";
import type { Dialect, SeveralSessions } from "../engine/dialect.js";
import { all, type Condition, type Operation, type SqlValue, sameSession } from "../engine/operation.js";
import { sessionOf as numberOfSession } from "../operations/registry/session-head.js";
import type { RankMessages, Scope } from "../operations/search/run-search.js";
import type { VectorDialect } from "./vector-bytes.js";
import { createBest, product } from "./vector-bytes.js";

/** The messages of a range that are most alike to a query, each above `least`; `words` are the best ones by words. */
export type FindNearest = (range: Scope["range"], limit: number, words: readonly Ranked[]) => Operation<ByMeaning>;

/** Two rankings meet further down than one is read: each is read so many times as deep. */
const AS_DEEP = 2;

/** Ranks by words and by vectors together. */
export function rankByBoth(
  byWords: RankMessages,
  findNearest: FindNearest,
  weights: { readonly words: number; readonly vectors: number },
  explain = false,
): RankMessages {
  return function* (range, first) {
    const depth = first * AS_DEEP;
    const words = yield* byWords(range, depth);
    const near = yield* findNearest(range, depth, words.ranked);
    const fused = fuseRankings(words.ranked, near, weights);
    return {
      ranked: explain ? withReasons(fused, words.ranked, near.ranked) : fused,
      complete: words.complete && near.ranked.length < depth,
    };
  };
}

const EVERYWHERE = [0, Number.MAX_SAFE_INTEGER] as const;

export function within(sql: Dialect, range: Scope["range"]): Condition {
  const { condition, values } = ofSessions(sql, range);
  return { condition: `${condition}v.n BETWEEN ? AND ?`, values: [...values, ...boundsOf(range)] };
}

export const boundsOf = (range: Scope["range"]) => (range === null ? EVERYWHERE : ([range.lo, range.hi] as const));

function ofSessions({ layout, segmentTable }: Dialect, range: Scope["range"]): Condition {
  const { sessionId = null, several } = range ?? {};
  if (layout !== "local" && sessionId !== null) return { condition: "v.session_id = ? AND ", values: [sessionId] };
  if (several === undefined) return { condition: "", values: [] };
  if (layout === "local") {
    const ranges = JSON.stringify(several.ranges.map(([lo, hi]) => [0, lo, hi]));
    const rows = `SELECT w.n FROM ${segmentTable} AS s CROSS JOIN assistant_vectors w WHERE w.n BETWEEN s.lo AND s.hi`;
    return { condition: `v.n IN (${rows}) AND `, values: [ranges] };
  }
  const ids = JSON.stringify(several.ids.map((id) => [0, 0, 0, id]));
  return { condition: `v.session_id = ANY (ARRAY(SELECT s.owner FROM ${segmentTable} AS s)) AND `, values: [ids] };
}

/** The numbers of some sessions. */
export function sessionsIn({ ranges }: SeveralSessions): number[] {
  return ranges.flatMap(([lo, hi]) => {
    const first = numberOfSession(lo);
    return Array.from({ length: numberOfSession(hi) - first + 1 }, (_, index) => first + index);
  });
}

// The session of a vector `v`, where its row names it.
const sessionOf = ({ layout }: Pick<Dialect, "layout">) => (layout !== "local" ? "v.session_id" : "NULL");

const rankedOf = ({ n: rowId, sessionId, score }: Found): Ranked =>
  typeof sessionId === "string" ? { n: rowId, sessionId, score } : { n: rowId, score };

interface Found {
  readonly n: number;
  readonly sessionId: string | null;
  readonly score: number;
}

export interface Wanted {
  readonly sql: Dialect;
  readonly dialect: VectorDialect;
  /** The number of the model whose vectors are compared. */
  readonly embedder: number;
  readonly query: Float32Array;
  /** How alike a vector must be. */
  readonly least: number;
}

/** Every vector of the range is compared, by an extension of the engine. */
export function nearestInEngine({ sql, dialect, embedder, query, least }: Wanted, similarity: string): FindNearest {
  return function* (range, limit) {
    const { condition, values } = within(sql, range);
    const rows = yield* all<Found & { mean: number; square: number }>(
      // Materialized, so that each vector is compared once.
      `WITH near (n, session_id, score) AS MATERIALIZED (
         SELECT v.n, ${sessionOf(sql)}, ${similarity} FROM assistant_vectors v
         WHERE v.embedder = ? AND v.vector IS NOT NULL AND ${condition})
       SELECT n, session_id AS "sessionId", score, (SELECT avg(score) FROM near) AS mean, (SELECT avg(score * score) FROM near) AS square
       FROM near ORDER BY score DESC, n DESC LIMIT ?`,
      dialect.encode(query),
      embedder,
      ...values,
      limit,
    );
    const { mean = 0, square = 0 } = rows[0] ?? {};
    const ranked = rows.filter(({ score }) => score > least).map(rankedOf);
    return { ranked, mean, deviation: Math.sqrt(Math.max(0, square - mean * mean)) };
  };
}

/** How many vectors a search reads at most, and how many of the newest tell how alike vectors usually are. */
const READ_BY_SIGNS = 5_000;
const USUAL = 200;

/** The vectors whose signs are most alike are read and compared; 500 at first, more where those are not what is asked for. */
export function nearestBySigns(
  { sql, dialect, embedder, query, least }: Wanted,
  { alike, encode }: NonNullable<VectorDialect["signs"]>,
): FindNearest {
  const compare = function* (rows: string, ...values: SqlValue[]): Operation<Ranked[]> {
    const select = `WITH likely AS MATERIALIZED (SELECT v.n AS n${sql.layout !== "local" ? ", v.session_id AS session_id" : ""} FROM ${rows})
       SELECT v.n AS n, ${sessionOf(sql)} AS "sessionId", ${dialect.read} AS vector FROM likely JOIN assistant_vectors v
       ON ${sameSession(sql, "v", "likely")}v.n = likely.n`;
    const found = yield* all<{ n: number; sessionId: string | null; vector: unknown }>(select, ...values);
    return found.map(({ vector, ...address }) =>
      rankedOf({ ...address, score: product(query, dialect.decode(vector)) }),
    );
  };
  return function* (range, depth) {
    const limit = Math.min(depth, READ_BY_SIGNS);
    const { condition, values } = within(sql, range);
    const ofRange = `assistant_vectors v WHERE v.embedder = ? AND ${condition} AND v.signs IS NOT NULL`;
    const bySigns = `${ofRange} ORDER BY ${alike} DESC, v.n DESC LIMIT ?`;
    const likely = yield* compare(bySigns, embedder, ...values, ...encode(query), limit);
    const isAll = likely.length < limit;
    const usual = isAll ? likely : yield* compare(`${ofRange} ORDER BY v.n DESC LIMIT ${USUAL}`, embedder, ...values);
    const scores = new Distribution();
    for (const { score } of usual) scores.add(score);
    const best = createBest<Ranked>(limit, least);
    for (const each of likely) best.add(each);
    return { ranked: best.take(), mean: scores.mean, deviation: scores.deviation };
  };
}
