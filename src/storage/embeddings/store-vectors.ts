import type { Dialect } from "../engine/dialect.js";
import { count, first, type Operation, run } from "../engine/operation.js";
import { ownOf, rowsOf, type SessionRows } from "../engine/session-rows.js";
import { ceilingOf, floorOf, sessionOf } from "../operations/row-id.js";
import { findNew, findOldOf, type Twin, type Waiting, waitingKey } from "./backlog.js";
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
  const results = new Map(embedded.map((result) => [waitingKey(result), result]));
  const old = yield* findOldOf(sql, embedder, embedded, lock);
  const wasOld = new Set(old.map(waitingKey));
  const counts = new Map<string, { readonly rows: SessionRows; count: number }>();
  for (const result of results.values()) {
    if (wasOld.has(waitingKey(result))) continue;
    const { n: rowId, sessionId } = result;
    const known = counts.get(sessionId) ?? { rows: rowsOf(sql, sessionId, sessionOf(rowId)), count: 0 };
    known.count += 1;
    counts.set(sessionId, known);
  }
  const fresh: Waiting[] = [];
  for (const { rows, count: few } of counts.values()) {
    fresh.push(...(yield* findNew(sql, embedder, rows, yield* findSeen(rows), few, lock)));
  }
  // A session's messages after one that has no row yet wait with it.
  const gaps = new Set<string>();
  for (const waiting of fresh) {
    const result = results.get(waitingKey(waiting));
    if (result?.text !== waiting.text) gaps.add(waiting.sessionId);
    else if (!gaps.has(waiting.sessionId)) yield* writeVector(sql, dialect, embedder, result, waiting.twin);
  }
  for (const waiting of old) {
    const result = results.get(waitingKey(waiting));
    if (result?.text === waiting.text) yield* writeVector(sql, dialect, embedder, result, waiting.twin);
  }
  return embedder;
}

function* findSeen({ own, ids, no }: SessionRows): Operation<number> {
  const seen = `SELECT coalesce(max(n), 0) AS seen FROM assistant_vectors WHERE ${own}n BETWEEN ? AND ?`;
  return Number((yield* first<{ seen: number }>(seen, ...ids, floorOf(no), ceilingOf(no)))?.seen);
}

// A row is written anew, with a number of its own: those who keep vectors in memory see by it what changed. `present` is the
// twin that the message has now.
function* writeVector(
  sql: Dialect,
  dialect: VectorDialect,
  embedder: number,
  { sessionId, n: rowId, twin, vector }: Embedded,
  present: Twin | null,
): Operation<void> {
  const { own, ids, column: named, mark } = rowsOf(sql, sessionId, sessionOf(rowId));
  yield* run(`DELETE FROM assistant_vectors WHERE ${own}n = ?`, ...ids, rowId);
  if (twin !== null && present !== null) {
    const source = rowsOf(sql, present.sessionId, sessionOf(present.n));
    const copy = `INSERT INTO assistant_vectors (${named}n, embedder, vector)
      SELECT ${mark}?, v.embedder, v.vector FROM assistant_vectors v WHERE ${ownOf(source, "v")}v.n = ? AND v.embedder = ?`;
    if ((yield* count(copy, [...ids, rowId, ...source.ids, present.n, embedder])) > 0) return;
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
