import { StemmaError } from "../../errors.js";
import { sha256 } from "../../model/sha256.js";
import type { ImportedVector, KeptVector, VectorModel } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, run } from "../engine/operation.js";
import { rowsOf, sameSession } from "../engine/session-rows.js";
import type { ContentRow } from "../operations/content.js";
import { sessionOf } from "../operations/row-id.js";
import { plain } from "./list-vectors.js";
import { type Embedded, storeVectors } from "./store-vectors.js";
import { readClaim, type VectorDialect } from "./vectors.js";
import { textToEmbed } from "./waiting.js";

interface KnownRow extends ContentRow {
  readonly id: string;
  readonly embedder: number | null;
  readonly vector: unknown;
}

/** Engines bind at least a hundred values to a statement. */
const IDS_AT_ONCE = 90;

/** See `VectorStore.import`. Errors: `COPY_CONFLICT`. */
export function* importVectors(
  sql: Dialect,
  dialect: VectorDialect,
  sessionId: string,
  { id, dimensions }: VectorModel,
  vectors: readonly KeptVector[],
): Operation<ImportedVector[]> {
  const claim = yield* readClaim(sql.forUpdate);
  if (claim.id !== "" && (claim.id !== id || claim.dimensions !== dimensions)) throw ofAnother(claim);
  const known = yield* findRows(sql, dialect, sessionId, vectors);
  const embedded: Embedded[] = [];
  const states: ImportedVector[] = [];
  for (const { messageId, text: digest, vector } of vectors) {
    const row = known.get(messageId);
    const text = row === undefined ? "" : yield* textToEmbed(sql, sessionId, row);
    const state = row === undefined || sha256(text) !== digest ? "other" : stateOf(dialect, row, claim.no, vector);
    states.push(state);
    if (row === undefined || state !== "written") continue;
    // A row of the same model gets the numbers of the one that is copied.
    if (row.embedder === claim.no) {
      const { own, ids } = rowsOf(sql, sessionId, sessionOf(row.n));
      yield* run(`UPDATE assistant_vectors SET embedder = 0 WHERE ${own}n = ?`, ...ids, row.n);
    }
    embedded.push({ sessionId, n: row.n, text, twin: null, vector: vector === undefined ? "refused" : vector });
  }
  if (embedded.length > 0) yield* storeVectors(sql, dialect, { id, dimensions, own: null }, embedded);
  return states;
}

function stateOf(dialect: VectorDialect, row: KnownRow, present: number, vector: KeptVector["vector"]): ImportedVector {
  const isMade = row.embedder === present && present > 0;
  if (vector === undefined) return isMade ? "own" : row.embedder === null ? "written" : "present";
  if (!isMade) return "written";
  const stored = row.vector === null ? null : plain(dialect.decode(row.vector));
  const isSame =
    stored === null || vector === null
      ? stored === vector
      : stored.length === vector.length && stored.every((x, at) => x === vector[at]);
  return isSame ? "present" : "written";
}

function* findRows(
  sql: Dialect,
  dialect: VectorDialect,
  sessionId: string,
  vectors: readonly KeptVector[],
): Operation<Map<string, KnownRow>> {
  const known = new Map<string, KnownRow>();
  for (let start = 0; start < vectors.length; start += IDS_AT_ONCE) {
    const ids = vectors.slice(start, start + IDS_AT_ONCE).map(({ messageId }) => messageId);
    const query = `SELECT m.n AS n, m.id AS id, m.content AS content, v.embedder AS embedder, ${dialect.read} AS vector
       FROM assistant_messages m LEFT JOIN assistant_vectors v ON ${sameSession(sql, "v", "m")}v.n = m.n
       WHERE m.session_id = ? AND m.id IN (${ids.map(() => "?").join(", ")})`;
    const rows = yield* all<KnownRow>(query, sessionId, ...ids);
    for (const row of rows) known.set(row.id, row);
  }
  return known;
}

function ofAnother({ id, dimensions }: VectorModel): StemmaError {
  const message = `The target has vectors of the embedder "${id}" with ${dimensions} numbers each. None of them was overwritten; copy without vectors, and have that embedder make them.`;
  return new StemmaError("COPY_CONFLICT", { embedder: id, dimensions }, message);
}
