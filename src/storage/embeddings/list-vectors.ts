import type { VectorModel } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation } from "../engine/operation.js";
import { ownOf, sameSession } from "../engine/session-rows.js";
import type { ContentRow } from "../operations/content.js";
import { ceilingOf, floorOf } from "../operations/row-id.js";
import { findSessionRows } from "../operations/session-head.js";
import { readClaim, type VectorDialect } from "./vectors.js";
import { textToEmbed } from "./waiting.js";

/** Rows that are read together. */
const PAGE = 64;

export interface VectorPage {
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
