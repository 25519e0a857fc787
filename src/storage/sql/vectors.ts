import { StemmaError } from "../../errors.js";
import { cut } from "../../model/snippet.js";
import { documentOf } from "../../model/text.js";
import { type ContentRow, readContent } from "./content.js";
import type { Dialect } from "./dialect.js";
import { all, column, count, first, type Operation, run, type SqlValue } from "./operation.js";
import { ceilingOf, floorOf, SESSION_RANGE, sessionOf } from "./position.js";

/**
 * The vectors of messages. They stand in tables of their own, which are made when an embedder is first used; from then
 * on the database keeps them right, whoever writes: a deleted message takes its vector along, an edited one marks it.
 *
 * What waits for a vector is found by row ids. In each session the messages up to some row have a row in
 * `assistant_vectors`, those after it have none yet. A row whose `embedder` is not the present one is old: it is of
 * another model, or its message was edited (0).
 */
export interface VectorDialect {
  /** Makes the tables, and the column `vectors` of `assistant_schema`; others who do so wait. Errors: `MIGRATION_REQUIRED`. */
  createTables(sql: Dialect): Operation<void>;
  /** How a vector is bound to a parameter, and how it is read from the column `vector` of `v`. */
  readonly bound: string;
  readonly read: string;
  encode(vector: Float32Array): SqlValue;
  decode(value: unknown): Float32Array;
  /** SQL for the similarity of `v.vector` and one bound vector, where the database has an extension for it. Null where it cannot. */
  readonly findSimilarity: (() => Operation<string | null>) | null;
}

const VERSION = 1;

/** The column of `assistant_schema` that tells the version of these tables. */
export const VERSION_COLUMN = `vectors INTEGER NOT NULL DEFAULT ${VERSION}`;

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

/** Makes the tables, where they are not there yet. Errors: `MIGRATION_REQUIRED`, `DATABASE_TOO_NEW`. */
export function* migrateVectors(sql: Dialect, dialect: VectorDialect): Operation<void> {
  if ((yield* versionOf(sql)) === VERSION) return;
  yield* dialect.createTables(sql);
  yield* run(NO_MODEL);
}

/** True when the tables have a version of their own. */
export function* hasVersion(sql: Dialect): Operation<boolean> {
  return (yield* sql.columns("assistant_schema")).includes("vectors");
}

function* versionOf(sql: Dialect): Operation<number> {
  if (!(yield* hasVersion(sql))) return 0;
  const version =
    (yield* first<{ version: number }>("SELECT max(vectors) AS version FROM assistant_schema"))?.version ?? 0;
  if (version <= VERSION) return version;
  const message = `The database has version ${version} of the vectors' tables; this program knows ${VERSION}. Upgrade stemma.`;
  throw new StemmaError("DATABASE_TOO_NEW", { version, known: VERSION }, message);
}

/** The model that a store embeds with. */
export interface Model {
  readonly id: string;
  /** Null where only the vectors tell. */
  readonly dimensions: number | null;
  /** The number that it has in this database, once this process has written with it. */
  readonly own: number | null;
}

interface Claim {
  readonly no: number;
  readonly id: string;
  readonly dimensions: number;
}

/** The model, when the database holds a vector of it. Errors: `EMBEDDER_REPLACED`. */
export function* findVectors(model: Model): Operation<Claim | null> {
  const claim = yield* findClaim(model);
  const some = "SELECT 1 FROM assistant_vectors WHERE embedder = ? AND vector IS NOT NULL LIMIT 1";
  return claim !== null && (yield* first(some, claim.no)) !== undefined ? claim : null;
}

// The model whose vectors the database holds, if it is this one.
function* findClaim(model: Model): Operation<Claim | null> {
  const claim = yield* readClaim();
  if (isOf(claim, model)) return claim;
  return model.own === null ? null : replaced(model, claim);
}

function* readClaim(lock = ""): Operation<Claim> {
  return (yield* first<Claim>(`SELECT no, id, dimensions FROM assistant_embedder${lock}`)) as Claim;
}

const isOf = (claim: Claim, { id, dimensions }: Model) =>
  claim.id === id && (dimensions === null || claim.dimensions === dimensions);

// Two processes with different models would undo each other's work without end: the one that came last goes on.
function replaced({ id }: Model, claim: Claim): never {
  const message = `Another process embeds with "${claim.id}" now, so the embedder "${id}" stopped. Open the store with one embedder everywhere.`;
  throw new StemmaError("EMBEDDER_REPLACED", { id, by: claim.id }, message);
}

// The number of the model: a new one when the database holds vectors of another. Writers wait for each other here.
function* claimModel(sql: Dialect, model: Model, dimensions: number): Operation<number> {
  const claim = yield* readClaim(sql.forUpdate);
  if (isOf(claim, { ...model, dimensions })) return claim.no;
  if (model.own !== null) return replaced(model, claim);
  yield* run("UPDATE assistant_embedder SET no = ?, id = ?, dimensions = ?", claim.no + 1, model.id, dimensions);
  return claim.no + 1;
}

/** A message that waits for its vector. */
export interface Waiting {
  readonly n: number;
  /** What is embedded; "" for a message that has no text, or cannot be read. */
  readonly text: string;
  /** The row of the same message of the session that this one was forked from, where that has its vector. */
  readonly twin: number | null;
}

/** How much of a message's text is embedded, in characters: what models take whole. */
const MAX_CHARACTERS = 5_000;

/** How many sessions a batch is taken from at most. */
const SESSIONS_AT_ONCE = 16;

// Of each session with new messages: its number, the last row that was looked at, and its last row.
const UNSEEN = `
  SELECT no, seen, newest FROM (
    SELECT s.no AS no,
      (SELECT max(m.n) FROM assistant_messages m WHERE m.n BETWEEN ${SESSION_RANGE("s.no")}) AS newest,
      coalesce((SELECT max(v.n) FROM assistant_vectors v WHERE v.n BETWEEN ${SESSION_RANGE("s.no")}), 0) AS seen
    FROM assistant_sessions s) AS progress
  WHERE newest > seen`;

interface WaitingRow extends ContentRow {
  readonly twin: number | null;
}

const COLUMNS = (embedder: number) => `m.n AS n, m.content AS content, (
  SELECT v.n FROM assistant_sessions s
  JOIN assistant_messages p ON p.session_id = s.parent_session_id AND p.id = m.id AND p.content = m.content
  JOIN assistant_vectors v ON v.n = p.n
  WHERE s.id = m.session_id AND v.embedder = ${embedder} AND v.vector IS NOT NULL) AS twin`;

/** Messages that wait: new ones, of the newest sessions first, each session's in order; then those whose row is old. */
function* findWaiting(
  sql: Dialect,
  embedder: number,
  limit: number,
  lock = "",
): Operation<{ fresh: Waiting[]; old: Waiting[] }> {
  const fresh: WaitingRow[] = [];
  const sessions = yield* all<{ no: number; seen: number }>(`${UNSEEN} ORDER BY no DESC LIMIT ${SESSIONS_AT_ONCE}`);
  for (const { no, seen } of sessions) {
    if (fresh.length === limit) break;
    const rows = yield* all<WaitingRow>(
      `SELECT ${COLUMNS(embedder)} FROM assistant_messages m WHERE m.n BETWEEN ? AND ? ORDER BY m.n LIMIT ?${lock}`,
      Math.max(seen + 1, floorOf(no)),
      ceilingOf(no),
      limit - fresh.length,
    );
    fresh.push(...rows);
  }
  const old = yield* column<number>(
    "SELECT n FROM assistant_vectors WHERE embedder < ? ORDER BY embedder DESC, n DESC LIMIT ?",
    embedder,
    limit - fresh.length,
  );
  const rows = yield* all<WaitingRow>(
    `SELECT ${COLUMNS(embedder)} FROM ${sql.segmentTable} AS s CROSS JOIN assistant_messages m WHERE m.n = s.lo${lock}`,
    JSON.stringify(old.map((n) => [0, Number(n), Number(n)])),
  );
  return { fresh: yield* textsOf(fresh), old: yield* textsOf(rows) };
}

function* textsOf(rows: readonly WaitingRow[]): Operation<Waiting[]> {
  const found: Waiting[] = [];
  for (const row of rows) {
    const message = yield* readContent(sessionOf(row.n), row, () => {});
    const document = message === null ? "" : documentOf(message).toWellFormed();
    found.push({ n: row.n, text: cut(document, 0, MAX_CHARACTERS), twin: row.twin });
  }
  return found;
}

/** The next messages to embed, at most `limit`. Errors: `EMBEDDER_REPLACED`. */
export function* readWaiting(sql: Dialect, model: Model, limit: number): Operation<Waiting[]> {
  const { fresh, old } = yield* findWaiting(sql, yield* numberOf(model), limit);
  return [...fresh, ...old];
}

/** How many messages wait. Errors: `EMBEDDER_REPLACED`. */
export function* countWaiting(model: Model): Operation<number> {
  const embedder = yield* numberOf(model);
  const fresh = yield* first<{ count: number | null }>(
    `SELECT sum((SELECT count(*) FROM assistant_messages m WHERE m.n BETWEEN ${SESSION_RANGE("u.no")} AND m.n > u.seen)) AS count
     FROM (${UNSEEN}) AS u`,
  );
  const old = yield* first<{ count: number }>(
    "SELECT count(*) AS count FROM assistant_vectors WHERE embedder < ?",
    embedder,
  );
  return Number(fresh?.count ?? 0) + Number(old?.count ?? 0);
}

// To a model that has no number yet, every row is old.
function* numberOf(model: Model): Operation<number> {
  return (yield* findClaim(model))?.no ?? (yield* readClaim()).no + 1;
}

/** What was found out about a message that waited. */
export interface Embedded extends Waiting {
  /** Null for a message that needs none. "refused": the embedder does not take its text, so that it goes on waiting. */
  readonly vector: Float32Array | null | "refused";
}

/**
 * Writes vectors of what `readWaiting` gave for this `limit`, as far as it still waits and is still what was embedded.
 * Gives the model's number. Errors: `EMBEDDER_REPLACED`.
 */
export function* storeVectors(
  sql: Dialect,
  dialect: VectorDialect,
  model: Model & { readonly dimensions: number },
  embedded: readonly Embedded[],
  limit: number,
): Operation<number> {
  const embedder = yield* claimModel(sql, model, model.dimensions);
  const results = new Map(embedded.map((result) => [result.n, result]));
  const lock = sql.forUpdate === "" ? "" : `${sql.forUpdate} OF m`;
  const { fresh, old } = yield* findWaiting(sql, embedder, limit, lock);
  // A session's messages after one that has no row yet wait with it.
  const gaps = new Set<number>();
  for (const { n, text } of fresh) {
    const result = results.get(n);
    if (result?.text !== text) gaps.add(sessionOf(n));
    else if (!gaps.has(sessionOf(n))) yield* writeVector(dialect, embedder, result);
  }
  for (const { n, text } of old) {
    const result = results.get(n);
    if (result?.text === text) yield* writeVector(dialect, embedder, result);
  }
  return embedder;
}

// A row is written anew, with a number of its own: those who keep vectors in memory see by it what changed.
function* writeVector(dialect: VectorDialect, embedder: number, { n, twin, vector }: Embedded): Operation<void> {
  yield* run("DELETE FROM assistant_vectors WHERE n = ?", n);
  if (twin !== null) {
    const copy = `INSERT INTO assistant_vectors (n, embedder, vector)
      SELECT ?, v.embedder, v.vector FROM assistant_vectors v WHERE v.n = ? AND v.embedder = ?`;
    if ((yield* count(copy, [n, twin, embedder])) > 0) return;
  }
  const isKnown = twin === null && vector !== "refused";
  yield* run(
    `INSERT INTO assistant_vectors (n, embedder, vector) VALUES (?, ?, ${dialect.bound})`,
    n,
    isKnown ? embedder : 0,
    isKnown && vector !== null ? dialect.encode(vector) : null,
  );
}
