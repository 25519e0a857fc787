import type { Dialect } from "../engine/dialect.js";
import { count, first, type Operation, run } from "../engine/operation.js";
import { rowsOf, type SessionRows } from "../engine/session-rows.js";
import { ceilingOf, floorOf, sessionOf } from "../operations/row-id.js";
import { findNew, findOldOf, type Waiting } from "./backlog.js";
import { claimModel, type Model, type VectorDialect } from "./vectors.js";

/** What was found out about a message that waited. */
export interface Embedded extends Waiting {
  /** Null for a message that needs none. "refused": the embedder does not take its text, so that it goes on waiting. */
  readonly vector: Float32Array | null | "refused";
}

/**
 * Writes vectors of what `readWaiting` gave, as far as it still waits and is still what was embedded. Gives the model's
 * number. Errors: `EMBEDDER_REPLACED`.
 */
export function* storeVectors(
  sql: Dialect,
  dialect: VectorDialect,
  model: Model & { readonly dimensions: number },
  embedded: readonly Embedded[],
): Operation<number> {
  const embedder = yield* claimModel(sql, model, model.dimensions);
  const lock = sql.forUpdate === "" ? "" : `${sql.forUpdate} OF m`;
  const results = new Map(embedded.map((result) => [result.n, result]));
  const old = yield* findOldOf(sql, embedder, embedded, lock);
  const wasOld = new Set(old.map(({ n: rowId }) => rowId));
  const counts = new Map<number, { readonly rows: SessionRows; count: number }>();
  for (const { n: rowId, sessionId } of results.values()) {
    if (wasOld.has(rowId)) continue;
    const number = sessionOf(rowId);
    const known = counts.get(number) ?? { rows: rowsOf(sql, sessionId, number), count: 0 };
    known.count += 1;
    counts.set(number, known);
  }
  const fresh: Waiting[] = [];
  for (const { rows, count: few } of counts.values()) {
    fresh.push(...(yield* findNew(sql, embedder, rows, yield* findSeen(rows), few, lock)));
  }
  // A session's messages after one that has no row yet wait with it.
  const gaps = new Set<number>();
  for (const { n: rowId, text } of fresh) {
    const result = results.get(rowId);
    if (result?.text !== text) gaps.add(sessionOf(rowId));
    else if (!gaps.has(sessionOf(rowId))) yield* writeVector(sql, dialect, embedder, result);
  }
  for (const { n: rowId, text } of old) {
    const result = results.get(rowId);
    if (result?.text === text) yield* writeVector(sql, dialect, embedder, result);
  }
  return embedder;
}

function* findSeen({ own, ids, no }: SessionRows): Operation<number> {
  const seen = `SELECT coalesce(max(n), 0) AS seen FROM assistant_vectors WHERE ${own}n BETWEEN ? AND ?`;
  return Number((yield* first<{ seen: number }>(seen, ...ids, floorOf(no), ceilingOf(no)))?.seen);
}

// A row is written anew, with a number of its own: those who keep vectors in memory see by it what changed.
function* writeVector(
  sql: Dialect,
  dialect: VectorDialect,
  embedder: number,
  { sessionId, n: rowId, twin, vector }: Embedded,
): Operation<void> {
  const { own, ids, column: named, mark } = rowsOf(sql, sessionId, sessionOf(rowId));
  yield* run(`DELETE FROM assistant_vectors WHERE ${own}n = ?`, ...ids, rowId);
  if (twin !== null) {
    const copy = `INSERT INTO assistant_vectors (${named}n, embedder, vector)
      SELECT ${mark}?, v.embedder, v.vector FROM assistant_vectors v WHERE v.n = ? AND v.embedder = ?`;
    if ((yield* count(copy, [...ids, rowId, twin, embedder])) > 0) return;
  }
  const isKnown = twin === null && vector !== "refused";
  yield* run(
    `INSERT INTO assistant_vectors (${named}n, embedder, vector) VALUES (${mark}?, ?, ${dialect.bound})`,
    ...ids,
    rowId,
    isKnown ? embedder : 0,
    isKnown && vector !== null ? dialect.encode(vector) : null,
  );
}
