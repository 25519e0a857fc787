import type { VectorModel } from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import {
  all,
  count,
  type Operation,
  oneNumber,
  ownOf,
  rowsOf,
  run,
  type SessionRows,
  type SqlValue,
  sameSession,
} from "../engine/operation.js";
import type { ContentRow } from "../operations/messages/content.js";
import { ceilingOf, findSessionRows, floorOf, sessionOf } from "../operations/registry/session-head.js";
import { findEntryText, findNew, findOldOf, type Twin, textToEmbed, type Waiting, waitingKey } from "./backlog.js";
import { claimModel, type Model, readClaim, type VectorDialect } from "./vector-bytes.js";
/** A message that waited, with its vector. */
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
  const sessions = new Map<string, { readonly rows: SessionRows; readonly waited: Embedded[] }>();
  for (const result of results.values()) {
    const { n: rowId, sessionId } = result;
    const known = sessions.get(sessionId) ?? { rows: rowsOf(sql, sessionId, sessionOf(rowId)), waited: [] };
    known.waited.push(result);
    sessions.set(sessionId, known);
  }
  for (const { rows, waited } of sessions.values()) {
    const replacing: Result[] = [];
    for (const waiting of old) {
      const result = results.get(waitingKey(waiting));
      if (waiting.sessionId !== rows.id || result?.text !== waiting.text) continue;
      replacing.push({ ...result, present: waiting.twin });
    }
    yield* deleteVectors(rows, replacing);
    yield* insertVectors(sql, dialect, embedder, rows, replacing);
    const few = waited.filter((result) => !wasOld.has(waitingKey(result))).length;
    if (few === 0) continue;
    const fresh: Result[] = [];
    for (const waiting of yield* findNew(sql, embedder, rows, yield* findSeen(rows), few, lock)) {
      const result = results.get(waitingKey(waiting));
      // A session's messages after one that has no row yet wait with it.
      if (result?.text !== waiting.text) break;
      fresh.push({ ...result, present: waiting.twin });
    }
    yield* insertVectors(sql, dialect, embedder, rows, fresh);
  }
  return embedder;
}

function findSeen(rows: SessionRows): Operation<number> {
  const range = [floorOf(rows.sessionNumber), ceilingOf(rows.sessionNumber)] as const;
  return oneNumber(...rows.where("SELECT max(n) AS seen FROM assistant_vectors", "n BETWEEN ? AND ?", ...range));
}

interface Result extends Embedded {
  readonly present: Twin | null;
}

/** Engines bind at least a hundred values to a statement: four or so for each row. */
const ROWS_AT_ONCE = 25;

// A row is written anew: that of a tenant has another key, by which a statement cannot say what to write over.
function* deleteVectors(rows: SessionRows, results: readonly Result[]): Operation<void> {
  for (const some of chunksOf(results)) {
    const marks = some.map(() => "?").join(", ");
    yield* run(...rows.where("DELETE FROM assistant_vectors", `n IN (${marks})`, ...some.map(({ n: rowId }) => rowId)));
  }
}

// Of messages of one session, none of which has a row.
function* insertVectors(
  sql: Dialect,
  dialect: VectorDialect,
  embedder: number,
  session: SessionRows,
  results: readonly Result[],
): Operation<void> {
  const { ids, column: named, mark } = session;
  const { columns, bound } = dialect;
  const rows: SqlValue[][] = [];
  for (const result of results) {
    const { n: rowId, twin, vector } = result;
    if (yield* copyVector(sql, dialect, embedder, session, result)) continue;
    const isKnown = twin === null && vector !== "refused";
    const encoded = isKnown && vector !== null ? dialect.encode(vector) : columns.map(() => null);
    rows.push([...ids, rowId, isKnown ? embedder : 0, ...encoded]);
  }
  const insertion = `INSERT INTO assistant_vectors (${named}n, embedder, ${columns.join(", ")})`;
  for (const some of chunksOf(rows)) {
    const values = some.map(() => `(${mark}?, ?, ${bound.join(", ")})`).join(", ");
    yield* run(`${insertion} VALUES ${values}`, ...some.flat());
  }
}

// Writes the vector of the twin. False where there is none.
function* copyVector(
  sql: Dialect,
  dialect: VectorDialect,
  embedder: number,
  session: SessionRows,
  { n: rowId, twin, present }: Result,
): Operation<boolean> {
  if (twin === null || present === null) return false;
  const { ids, column: named, mark } = session;
  const { columns } = dialect;
  const source = rowsOf(sql, present.sessionId, sessionOf(present.n));
  const copy = `INSERT INTO assistant_vectors (${named}n, embedder, ${columns.join(", ")})
    SELECT ${mark}?, v.embedder, ${columns.map((column) => `v.${column}`).join(", ")} FROM assistant_vectors v
    WHERE ${ownOf(source, "v")}v.n = ? AND v.embedder = ?`;
  return (yield* count(copy, ...ids, rowId, ...source.ids, present.n, embedder)) > 0;
}

/** Writes vectors of what `readWaitingEntries` gave, as `storeVectors` does. */
export function* storeEntryVectors(
  sql: Dialect,
  dialect: VectorDialect,
  embedder: number,
  embedded: readonly Embedded[],
): Operation<void> {
  const { columns, bound } = dialect;
  const written = columns.map((column, index) => `${column} = ${bound[index]}`).join(", ");
  for (const { sessionId, n: rowId, text, vector } of embedded) {
    if (vector === "refused" || (yield* findEntryText(sql, sessionId, rowId)) !== text) continue;
    const values = vector === null ? columns.map(() => null) : dialect.encode(vector);
    const rows = rowsOf(sql, sessionId, 0);
    yield* run(
      `UPDATE assistant_entry_vectors SET embedder = ?, ${written} WHERE ${rows.own}n = ?`,
      ...[embedder, ...values, ...rows.ids, rowId],
    );
  }
}

function* chunksOf<T>(items: readonly T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += ROWS_AT_ONCE) yield items.slice(start, start + ROWS_AT_ONCE);
}

/** Rows that are read together. */
const PAGE = 64;

interface VectorPage {
  readonly rows: readonly {
    readonly id: string;
    readonly text: string;
    /** Null for a message that needs none; undefined for one that waits. */
    readonly vector: Float32Array | null | undefined;
  }[];
  /** The row id to go on behind; null when there is no more. */
  readonly next: number | null;
}

interface VectorRow extends ContentRow {
  readonly id: string;
  readonly embedder: number;
  readonly vector: unknown;
}

/** A page of the messages of a session that have a row among the vectors, behind the row `after`. */
export function* listVectors(
  sql: Dialect,
  dialect: VectorDialect,
  sessionId: string,
  model: VectorModel,
  after: number,
): Operation<VectorPage> {
  const owned = yield* findSessionRows(sql, sessionId);
  if (owned === null) return { rows: [], next: null };
  const claim = yield* readClaim();
  const isOfModel = claim.id === model.id && claim.dimensions === model.dimensions;
  const found = yield* all<VectorRow>(
    `SELECT m.n AS n, m.id AS id, m.content AS content, v.embedder AS embedder, ${dialect.read} AS vector
     FROM assistant_vectors v JOIN assistant_messages m ON ${sameSession(sql, "m", "v")}m.n = v.n
     WHERE ${ownOf(sql, "v")}v.n BETWEEN ? AND ? ORDER BY v.n LIMIT ${PAGE}`,
    ...owned.ids,
    Math.max(after + 1, floorOf(owned.sessionNumber)),
    ceilingOf(owned.sessionNumber),
  );
  const rows: VectorPage["rows"][number][] = [];
  for (const row of found) {
    const isMade = isOfModel && row.embedder === claim.no;
    const vector = row.vector === null ? null : plain(dialect.decode(row.vector));
    rows.push({ id: row.id, text: yield* textToEmbed(sql, sessionId, row), vector: isMade ? vector : undefined });
  }
  return { rows, next: found.length < PAGE ? null : (found[PAGE - 1] as VectorRow).n };
}

/** Without the sign of a zero, which not every engine keeps. */
export function plain(vector: Float32Array): Float32Array {
  return vector.map((value) => (value === 0 ? 0 : value));
}
