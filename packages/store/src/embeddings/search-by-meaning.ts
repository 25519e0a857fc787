import {
  type ByMeaning,
  Distribution,
  fuseRankings,
  type Ranked,
  Recent,
  type SearchQuery,
  withReasons,
} from "@stemma/model";
import type { Dialect, RowRange } from "../engine/dialect.js";
import { all, type Condition, column, type Operation, type SqlValue, tuples } from "../engine/operation.js";
import type { RankEntries } from "../operations/memory/entries.js";
import { type RankMessages, rankByWords, searchOf } from "../operations/search/run-search.js";
import type { OpenStore } from "../sql/sql-store.js";
import type { ParsedEmbedder } from "./embedder.js";
import { PACK, packsOf, type Ranges, SignScan, signsOf } from "./signs.js";
import {
  createBest,
  findVectors,
  type Model,
  product,
  SIGN_TABLES,
  type VectorDialect,
  type VectorTable,
} from "./vector-bytes.js";

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

/** Vectors that are compared: all of a table, or those of some rows. */
interface Among {
  readonly table: VectorTable;
  /** The sessions of the rows; null for all. */
  readonly ids: readonly string[] | null;
  /** The numbers of the rows, ascending; null for all. */
  readonly ranges: Ranges | null;
}

/** The rows whose vectors are most alike to a query, each above a least similarity. */
type FindNearest = (among: Among, limit: number) => Operation<ByMeaning>;

interface Weights {
  readonly words: number;
  readonly vectors: number;
}

/** Two rankings meet further down than one is read: each is read so many times as deep. */
const AS_DEEP = 2;

/** Ranks messages by words and by vectors together. */
function rankByBoth(byWords: RankMessages, findNearest: FindNearest, weights: Weights, explain = false): RankMessages {
  return function* (range, first) {
    const depth = first * AS_DEEP;
    const words = yield* byWords(range, depth);
    const near = yield* findNearest(messagesIn(range), depth);
    const fused = fuseRankings(words.ranked, near, weights);
    return {
      ranked: explain ? withReasons(fused, words.ranked, near.ranked) : fused,
      complete: words.complete && near.ranked.length < depth,
    };
  };
}

/** How deep the rankings of entries are read at least. */
const ENTRIES_READ = 250;

/** Ranks entries by words and by vectors together. */
function rankEntriesByBoth(byWords: RankEntries, findNearest: FindNearest, weights: Weights): RankEntries {
  return function* (within, limit) {
    const depth = Math.max(ENTRIES_READ, limit) * AS_DEEP;
    const words = yield* byWords(within, depth);
    const query = `SELECT e.n FROM cf_agents_search_entries e WHERE ${within.where} ORDER BY e.n`;
    const numbers = yield* column<number>(query, ...within.values);
    const ranges = numbers.map((rowId) => [Number(rowId), Number(rowId)] as const);
    const near = yield* findNearest({ table: "assistant_entry_vectors", ids: within.sessionIds, ranges }, depth);
    // An entry's number is its own, whoever's it is.
    const ranked = near.ranked.map(({ n: rowId, score }) => ({ n: rowId, score }));
    return fuseRankings(words, { ...near, ranked }, weights).slice(0, limit);
  };
}

function messagesIn(range: RowRange): Among {
  const table = "assistant_vectors";
  if (range === null) return { table, ids: null, ranges: null };
  const { lo, hi, sessionId, chosen } = range;
  if (chosen !== undefined) return { table, ...chosen };
  return { table, ids: sessionId === null ? null : [sessionId], ranges: [[lo, hi]] };
}

/** A condition on vectors `v`. */
function within({ layout, segmentTable }: Dialect, { table, ids, ranges }: Among): Condition {
  const segments = (rows: readonly (readonly [lo: number, hi: number, id?: string])[]) =>
    JSON.stringify(rows.map((row) => [0, ...row]));
  if (layout === "local") {
    if (ranges === null) return { condition: "TRUE", values: [] };
    const rows = `SELECT w.n FROM ${segmentTable} AS s CROSS JOIN ${table} w WHERE w.n BETWEEN s.lo AND s.hi`;
    return { condition: `v.n IN (${rows})`, values: [segments(ranges)] };
  }
  const conditions = ["TRUE"];
  const values: SqlValue[] = [];
  if (ids !== null) {
    conditions.push(`v.session_id = ANY (ARRAY(SELECT s.owner FROM ${segmentTable} AS s))`);
    values.push(segments(ids.map((id) => [0, 0, id])));
  }
  // A session's messages are all of its rows.
  if (table === "assistant_entry_vectors" && ranges !== null) {
    conditions.push(`v.n = ANY (ARRAY(SELECT s.lo FROM ${segmentTable} AS s))`);
    values.push(segments(ranges));
  }
  return { condition: conditions.join(" AND "), values };
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

interface Wanted {
  readonly sql: Dialect;
  readonly dialect: VectorDialect;
  /** The number of the model whose vectors are compared. */
  readonly embedder: number;
  readonly query: Float32Array;
  /** How alike a vector must be. */
  readonly least: number;
}

/** Every vector is compared, by an extension of the engine. */
function nearestInEngine({ sql, dialect, embedder, query, least }: Wanted, similarity: string): FindNearest {
  return function* (among, limit) {
    const { condition, values } = within(sql, among);
    const [bound = null] = dialect.encode(query);
    const rows = yield* all<Found & { mean: number; square: number }>(
      // Materialized, so that each vector is compared once.
      `WITH near (n, session_id, score) AS MATERIALIZED (
         SELECT v.n, ${sessionOf(sql)}, ${similarity} FROM ${among.table} v
         WHERE v.embedder = ? AND v.vector IS NOT NULL AND ${condition})
       SELECT n, session_id AS "sessionId", score, (SELECT avg(score) FROM near) AS mean, (SELECT avg(score * score) FROM near) AS square
       FROM near ORDER BY score DESC, n DESC LIMIT ?`,
      bound,
      embedder,
      ...values,
      limit,
    );
    const { mean = 0, square = 0 } = rows[0] ?? {};
    const ranked = rows.filter(({ score }) => score > least).map(rankedOf);
    return { ranked, mean, deviation: Math.sqrt(Math.max(0, square - mean * mean)) };
  };
}

/** How many vectors a search reads at most, and how many, spread evenly, tell how alike vectors usually are. */
const MOST_READ = 5_000;
const USUAL = 256;

/** The engine finds the vectors whose signs are most alike, and some of all others; these are read and compared. */
function nearestBySigns(
  { sql, dialect, embedder, query, least }: Wanted,
  { unlike, encode, spread }: NonNullable<VectorDialect["signs"]>,
): FindNearest {
  return function* (among, depth) {
    const { table } = among;
    const limit = Math.min(depth, MOST_READ);
    const { condition, values } = within(sql, among);
    const found = yield* all<{ n: number; sessionId: string; isLikely: boolean; vector: unknown }>(
      `WITH near AS MATERIALIZED (SELECT v.n, v.session_id, ${unlike} AS unlike FROM ${table} v
         WHERE v.embedder = ? AND ${condition} AND v.signs IS NOT NULL),
       chosen AS ((SELECT n, session_id, TRUE AS is_likely FROM near ORDER BY unlike, n DESC LIMIT ?)
         UNION ALL SELECT n, session_id, FALSE FROM near WHERE ${spread} % (1 + (SELECT count(*) FROM near) / ${USUAL}) = 0)
       SELECT c.n AS n, c.session_id AS "sessionId", c.is_likely AS "isLikely", ${dialect.read} AS vector
       FROM chosen c JOIN ${table} v ON v.session_id = c.session_id AND v.n = c.n`,
      encode(query),
      embedder,
      ...values,
      limit,
    );
    const compared = found.map(({ vector, isLikely, ...address }) => {
      return { isLikely, found: rankedOf({ ...address, score: product(query, dialect.decode(vector)) }) };
    });
    const likely = compared.filter(({ isLikely }) => isLikely).map((each) => each.found);
    const others = compared.filter(({ isLikely }) => !isLikely).map((each) => each.found);
    return rankingOf(likely, likely.length < limit ? likely : others, limit, least);
  };
}

function rankingOf(likely: Iterable<Ranked>, usual: Iterable<Ranked>, limit: number, least: number): ByMeaning {
  const scores = new Distribution();
  for (const { score } of usual) scores.add(score);
  const best = createBest<Ranked>(limit, least);
  for (const each of likely) best.add(each);
  return { ranked: best.take(), mean: scores.mean, deviation: scores.deviation };
}

/** How many characters of signs, and how many vectors, one statement reads: a millisecond or two of work. */
const SIGNS_AT_ONCE = 800_000;
const VECTORS_AT_ONCE = 500;
/** How many ranges of packs one statement is given. */
const RANGES_AT_ONCE = 250;

/** The signs of all vectors, which are packed, are read and compared here, then the vectors whose signs are most alike. */
function nearestByScan({ sql, dialect, embedder, query, least }: Wanted): FindNearest {
  const packsAtOnce = Math.ceil(SIGNS_AT_ONCE / (PACK * signsOf(query).length));
  const isVector = (vector: Float32Array) => vector.length === query.length;
  return function* (among, depth) {
    const { table, ranges } = among;
    const limit = Math.min(depth, MOST_READ);
    const rows = ranges ?? [[0, Number.MAX_SAFE_INTEGER]];
    const scan = new SignScan(query, limit, rows);
    const page = `SELECT p.pack, p.signs FROM ${sql.segmentTable} AS s CROSS JOIN ${SIGN_TABLES[table]} p
      WHERE p.pack BETWEEN s.lo AND s.hi AND p.embedder = ? LIMIT ${packsAtOnce}`;
    for (let packs = packsOf(rows); packs.length > 0; ) {
      const some = packs.slice(0, RANGES_AT_ONCE);
      const found = yield* tuples<[pack: number, signs: string]>(page, segmentsOf(some), embedder);
      for (const [pack, signs] of found) scan.add(pack, signs);
      const last = found.length < packsAtOnce ? (some.at(-1) as (typeof some)[0])[1] : (found.at(-1)?.[0] ?? 0);
      const next = packs.findIndex(([, hi]) => hi > last);
      packs = next < 0 ? [] : packs.slice(next);
      if (packs[0] !== undefined) packs[0] = [Math.max(packs[0][0], last + 1), packs[0][1]];
    }
    const { likely, spread } = scan.take();
    const read = `SELECT v.n, ${dialect.read} FROM ${sql.segmentTable} AS s CROSS JOIN ${table} v
      WHERE v.n = s.lo AND v.embedder = ?`;
    const compared = new Map<number, Ranked>();
    const numbers = [...new Set([...likely, ...spread])].sort((a, b) => a - b);
    for (let start = 0; start < numbers.length; start += VECTORS_AT_ONCE) {
      const some = numbers.slice(start, start + VECTORS_AT_ONCE).map((rowId) => [rowId, rowId] as const);
      for (const [rowId, vector] of yield* tuples<[n: number, vector: never]>(read, segmentsOf(some), embedder)) {
        const decoded = dialect.decode(vector);
        if (isVector(decoded)) compared.set(rowId, { n: rowId, score: product(query, decoded) });
      }
    }
    const comparedOf = (rowIds: readonly number[]) => rowIds.flatMap((rowId) => compared.get(rowId) ?? []);
    return rankingOf(comparedOf(likely), comparedOf(spread), limit, least);
  };
}

const segmentsOf = (rows: Ranges): string => JSON.stringify(rows.map(([lo, hi]) => [0, lo, hi]));
