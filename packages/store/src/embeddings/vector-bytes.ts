import { StemmaError } from "@stemma/model";
import type { VectorModel } from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import { first, type Operation, oneNumber, run, type SqlValue } from "../engine/operation.js";
/** Vectors of messages, and of searchable entries. */
export type VectorTable = "assistant_vectors" | "assistant_entry_vectors";

/** The tables of their signs, where these are compared here. */
export const SIGN_TABLES = {
  assistant_vectors: "assistant_vector_signs",
  assistant_entry_vectors: "assistant_entry_vector_signs",
} as const satisfies Record<VectorTable, string>;

/**
 * The vectors of messages and entries. They stand in tables of their own, which are made when an embedder is first used; from then
 * on whoever writes keeps them right, also without an embedder: a deleted message takes its vector along, an edited one marks it.
 * Tables of another version are dropped, and all vectors are made anew.
 *
 * What waits for a vector is found by row ids. In each session the messages up to some row have a row in
 * `assistant_vectors`, those after it have none yet. A row whose `embedder` is not the present one is old: it is of
 * another model, or its message was edited (0). An entry has a row from the start, which is old (0) until it is embedded.
 */
export interface VectorDialect {
  /** The version of its tables, which the column `vectors` of `assistant_schema` tells. */
  readonly version: number;
  /** Makes the tables of this version, or brings those of an earlier one to it, and tells it; others who do so wait. Errors: `MIGRATION_REQUIRED`. */
  createTables(sql: Dialect): Operation<void>;
  /** The columns that are written of a vector, how each is bound, and the values. */
  readonly columns: readonly string[];
  readonly bound: readonly string[];
  encode(vector: Float32Array): SqlValue[];
  /** How a vector is read from the column `vector` of `v`. */
  readonly read: string;
  decode(value: unknown): Float32Array;
  /** SQL for the similarity of `v.vector` and one bound vector, where the database has an extension for it. Null where it cannot. */
  readonly findSimilarity: (() => Operation<string | null>) | null;
  /**
   * SQL for how many signs of `v.vector` and of a bound vector differ, and what is bound to it; and for a whole number by which the
   * rows of `near` are chosen evenly, whatever rows there are beside them. Null where `SIGN_TABLES` hold those of `signsOf`, packed
   * as `PACK` says, which are read and compared here.
   */
  readonly signs: {
    readonly unlike: string;
    readonly spread: string;
    encode(vector: Float32Array): SqlValue;
  } | null;
}

/** The column of `assistant_schema` that tells the version of these tables. */
export const versionColumn = (version: number) => `vectors INTEGER NOT NULL DEFAULT ${version}`;

/** The table that names the model, the same in every dialect. */
export const EMBEDDER_TABLE = `CREATE TABLE IF NOT EXISTS assistant_embedder (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  no INTEGER NOT NULL,
  id TEXT NOT NULL,
  dimensions INTEGER NOT NULL
)`;

/** The only row of the table that names the model; 0 stands for none. */
export const NO_MODEL =
  "INSERT INTO assistant_embedder (one, no, id, dimensions) VALUES (1, 0, '', 0) ON CONFLICT DO NOTHING";

/** Makes the tables, where they are not there yet or of another version. Errors: `MIGRATION_REQUIRED`, `DATABASE_TOO_NEW`. */
export function* migrateVectors(sql: Dialect, dialect: VectorDialect): Operation<void> {
  if ((yield* versionOf(sql, dialect.version)) === dialect.version) return;
  yield* dialect.createTables(sql);
  yield* run(NO_MODEL);
}

/** True when the tables have a version of their own. */
export function* hasVersion(sql: Dialect): Operation<boolean> {
  return (yield* sql.columns("assistant_schema")).includes("vectors");
}

function* versionOf(sql: Dialect, known: number): Operation<number> {
  if (!(yield* hasVersion(sql))) return 0;
  const version = yield* oneNumber("SELECT max(vectors) AS version FROM assistant_schema");
  if (version <= known) return version;
  const message = `The database has version ${version} of the vectors' tables; this program knows ${known}. Upgrade stemma.`;
  throw new StemmaError("DATABASE_TOO_NEW", { version, known }, message);
}

/** The model that a store embeds with. */
export interface Model {
  readonly id: string;
  /** Null where only the vectors tell. */
  readonly dimensions: number | null;
  /** The number that it has in this database, once this process has written with it. */
  readonly own: number | null;
}

export interface Claim extends VectorModel {
  readonly no: number;
}

/** The model, when the database holds a vector of it. Errors: `EMBEDDER_REPLACED`. */
export function* findVectors(model: Model, table: VectorTable): Operation<Claim | null> {
  const claim = yield* findClaim(model);
  const some = `SELECT 1 FROM ${table} WHERE embedder = ? AND vector IS NOT NULL LIMIT 1`;
  return claim !== null && (yield* first(some, claim.no)) !== undefined ? claim : null;
}

// The model whose vectors the database holds, if it is this one.
function* findClaim(model: Model): Operation<Claim | null> {
  const claim = yield* readClaim();
  if (isOf(claim, model)) return claim;
  return model.own === null ? null : replaced(model, claim);
}

/** The model whose vectors the database holds; null where no embedder was used. */
export function* findModel(sql: Dialect): Operation<VectorModel | null> {
  if ((yield* sql.columns("assistant_embedder")).length === 0) return null;
  const { id, dimensions } = yield* readClaim();
  return id === "" ? null : { id, dimensions };
}

/** Which model the database names, and its number; its id is "" where no embedder was used. */
export function* readClaim(lock = ""): Operation<Claim> {
  return (yield* first<Claim>(`SELECT no, id, dimensions FROM assistant_embedder${lock}`)) as Claim;
}

const isOf = (claim: Claim, { id, dimensions }: Model) =>
  claim.id === id && (dimensions === null || claim.dimensions === dimensions);

// Two processes with different models would undo each other's work without end: the one that came last goes on.
function replaced({ id }: Model, claim: Claim): never {
  const message = `Another process embeds with "${claim.id}" now, so the embedder "${id}" stopped. Open the store with one embedder everywhere.`;
  throw new StemmaError("EMBEDDER_REPLACED", { id, by: claim.id }, message);
}

/** The number that the model has or will have: rows of lower numbers are old. Errors: `EMBEDDER_REPLACED`. */
export function* numberOf(model: Model): Operation<number> {
  return (yield* findClaim(model))?.no ?? (yield* readClaim()).no + 1;
}

/**
 * Finds the model's number for a write: a new one when the database holds vectors of another model. Writers wait for each other
 * here. Errors: `EMBEDDER_REPLACED`.
 */
export function* claimModel(sql: Dialect, model: Model, dimensions: number): Operation<number> {
  const claim = yield* readClaim(sql.forUpdate);
  if (isOf(claim, { ...model, dimensions })) return claim.no;
  if (model.own !== null) return replaced(model, claim);
  yield* run("UPDATE assistant_embedder SET no = ?, id = ?, dimensions = ?", claim.no + 1, model.id, dimensions);
  return claim.no + 1;
}

/** Collects the best of what it is shown, above `least`. */
export function createBest<R extends { readonly n: number; readonly score: number }>(limit: number, least: number) {
  let best: R[] = [];
  let worst = Number.NEGATIVE_INFINITY;
  const sort = () => {
    best.sort((a, b) => b.score - a.score || b.n - a.n);
    best = best.slice(0, limit);
  };
  const takes = (score: number): boolean => score > least && score >= worst;
  return {
    /** False where nothing with such a score is kept. */
    takes,
    add(found: R): void {
      if (!takes(found.score)) return;
      best.push(found);
      if (best.length < 2 * limit + 1000) return;
      sort();
      worst = best.at(-1)?.score ?? worst;
    },
    /** Best first; of equals the later message. */
    take(): R[] {
      sort();
      return best;
    },
  };
}

/** The product of two vectors of one length. */
export function product(vector: Float32Array, other: Float32Array): number {
  const { length } = vector;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let index = 0;
  // Four sums do not wait for each other.
  for (; index + 3 < length; index += 4) {
    a += (vector[index] as number) * (other[index] as number);
    b += (vector[index + 1] as number) * (other[index + 1] as number);
    c += (vector[index + 2] as number) * (other[index + 2] as number);
    d += (vector[index + 3] as number) * (other[index + 3] as number);
  }
  for (; index < length; index += 1) a += (vector[index] as number) * (other[index] as number);
  return a + b + c + d;
}
