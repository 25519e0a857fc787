import { Distribution } from "../../model/distribution.js";
import { all, type Operation, type SqlValue } from "../engine/operation.js";
import { createBest } from "./best-matches.js";
import { product } from "./dot-product.js";
import type { MemoryIndex, Near } from "./memory-index.js";
import { type FindNearest, type Wanted, within } from "./search.js";

/** Of a range whose vectors are not all in memory: how many are read, the newest. */
const READ_OF_RANGE = 5_000;

/**
 * Every vector is compared, in memory, where all fit. Where they do not: of the whole store the newest, which are in
 * memory, of a range its newest 5,000, which are read; and in either case those of the best messages by words.
 */
export function nearestInMemory({ sql, dialect, embedder, query, least }: Wanted, memory: MemoryIndex): FindNearest {
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
