import { invalid, StemmaError } from "@stemma/model";
import type { ListRecordsOptions, RecordScope, StoredRecord, WriteRecordOptions } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import {
  all,
  type Condition,
  column,
  count,
  first,
  type Operation,
  oneNumber,
  run,
  type SqlValue,
} from "../../engine/operation.js";
import { assertStorable, assertVersionNumber } from "../assert-storable.js";
import { orderedPage } from "./ordered-page.js";

interface RecordRow {
  readonly key: string;
  readonly value: unknown;
  readonly version: number;
  readonly expires_at: number | null;
}

/** A write of a record that expires takes away so many whose time has come. */
const SWEPT = 16;

/** The operation behind `RecordStore.get`. `lock` ends the query. */
export function* readRecord(sql: Dialect, scope: RecordScope, key: string, lock = ""): Operation<StoredRecord | null> {
  const { condition, values } = present(sql);
  const query = `SELECT key, ${sql.bytes.read("value")} AS value, version, expires_at FROM assistant_records
     WHERE ${IN_SCOPE} AND key = ? AND ${condition}${lock}`;
  const row = yield* first<RecordRow>(query, scope.sessionId, scope.label, key, ...values);
  return row === undefined ? null : recordOf(sql, row);
}

/** The operation behind `RecordStore.set`. One statement, or two where the record expires. */
export function* writeRecord(
  sql: Dialect,
  scope: RecordScope,
  key: string,
  value: Uint8Array,
  options: WriteRecordOptions,
): Operation<StoredRecord> {
  const record = yield* placeRecord(sql, scope, key, value, options);
  // Whoever writes what expires takes away what has expired.
  if (record.expiresAt !== null) yield* sweepRecords(sql);
  return record;
}

/** As `writeRecord`, without a look at what has expired. */
export function* placeRecord(
  sql: Dialect,
  scope: RecordScope,
  key: string,
  value: Uint8Array,
  options: WriteRecordOptions,
): Operation<StoredRecord> {
  const { expectedVersion, expiresAt = null } = options;
  assertRecord(scope, key);
  assertVersionNumber(options.version, "The version of a record");
  assertExpiry(expiresAt);
  const version = options.version ?? newVersion();
  const row = rowOf(sql, scope, key, value, version, expiresAt);
  while (!(yield* putRow(sql, row, expectedVersion))) {
    const found = yield* presentVersion(sql, scope, key);
    // It was written by this call, whose statement was run again because a connection was lost.
    if (found === version) break;
    assertVersion(scope, key, expectedVersion, found);
  }
  return { key, value, version, expiresAt };
}

function assertRecord({ sessionId, label }: RecordScope, key: string): void {
  assertStorable("A record's", { sessionId, label, key });
}

function assertExpiry(expiresAt: number | null): void {
  if (expiresAt === null || Number.isSafeInteger(expiresAt)) return;
  throw invalid("A record expires at a whole number of milliseconds since 1970.", { expiresAt });
}

/** A record that is written over whatever is there. */
export interface PlainRecord {
  readonly scope: RecordScope;
  readonly key: string;
  readonly value: Uint8Array;
}

/** Writes several of them. Where each statement is a round trip, those that are new are one statement. */
export function* writeRecords(sql: Dialect, records: readonly PlainRecord[]): Operation<void> {
  for (const { scope, key } of records) assertRecord(scope, key);
  if (sql.layout !== "local" && records.length > 1) {
    const rows = records.map(({ scope, key, value }) => rowOf(sql, scope, key, value, newVersion(), null));
    if (yield* insertRows(sql, rows)) return;
  }
  for (const { scope, key, value } of records) yield* writeRecord(sql, scope, key, value, {});
}

/** Nothing but `RECORD_CONFLICT` where the record is not at this version. It stays so until the transaction ends. */
export function* checkRecord(sql: Dialect, scope: RecordScope, key: string, version: number): Operation<void> {
  assertVersion(scope, key, version, yield* presentVersion(sql, scope, key, sql.forUpdate));
}

/** The operation behind `RecordStore.delete`. The row of a record whose time has come is left to who takes such rows away. */
export function* deleteRecord(
  sql: Dialect,
  scope: RecordScope,
  key: string,
  expectedVersion: number | undefined,
): Operation<boolean> {
  const [version, versions] = expectedVersion === undefined ? ["", []] : ["AND version = ?", [expectedVersion]];
  const { condition, values } = present(sql);
  const deletion = `DELETE FROM assistant_records WHERE ${IN_SCOPE} AND key = ? AND ${condition} ${version}`;
  while ((yield* count(deletion, scope.sessionId, scope.label, key, ...values, ...versions)) === 0) {
    assertVersion(scope, key, expectedVersion, yield* presentVersion(sql, scope, key));
    if (!expectedVersion) return false;
  }
  return true;
}

/** The operation behind `RecordStore.list`. */
export function* listRecords(sql: Dialect, scope: RecordScope, options: ListRecordsOptions): Operation<StoredRecord[]> {
  const page = orderedPage(sql, "key", options);
  const { condition, values } = present(sql);
  const query = `SELECT key, ${sql.bytes.read("value")} AS value, version, expires_at FROM assistant_records
     WHERE ${IN_SCOPE} AND ${page.condition} AND ${condition} ${page.order}`;
  const rows = yield* all<RecordRow>(query, scope.sessionId, scope.label, ...page.values, ...values, page.limit);
  return rows.map((row) => recordOf(sql, row));
}

/** The operation behind `RecordStore.labels`. */
export function* listRecordLabels(sql: Dialect, sessionId: string): Operation<string[]> {
  const { condition, values } = present(sql);
  const query = `SELECT label FROM assistant_records WHERE session_id = ? AND ${PROGRAMS_OWN} AND ${condition} GROUP BY label ORDER BY ${sql.bytes.ordered("label")}`;
  return yield* column<string>(query, sessionId, ...values);
}

/** The operation behind `RecordStore.expire`. */
export function* expireRecords(sql: Dialect, scope: RecordScope, prefix: string, after: number): Operation<void> {
  const page = orderedPage(sql, "key", { prefix });
  const { condition, values } = timeNow(sql);
  const update = `UPDATE assistant_records SET expires_at = ${condition} + ? WHERE ${IN_SCOPE} AND ${page.condition}`;
  yield* run(update, ...values, after, scope.sessionId, scope.label, ...page.values);
}

/** The operation behind `RecordStore.now`. */
export const readServerTime = (time: string): Operation<number> => oneNumber(`SELECT ${time}`);

/** Copies a record of a session to another one. */
export function* copyRecord(from: RecordScope, key: string, sessionId: string): Operation<void> {
  const insertion = `INSERT INTO assistant_records (session_id, label, key, value, version, expires_at)
     SELECT ?, label, key, value, version, expires_at FROM assistant_records WHERE ${IN_SCOPE} AND key = ?`;
  yield* run(insertion, sessionId, from.sessionId, from.label, key);
}

/** Begins the labels of records of no session that are the store's own and a server's, such as keys. */
export const RESERVED_LABELS = "stemma:";

/** The records that are a program's. */
export const PROGRAMS_OWN = `(session_id <> '' OR substr(label, 1, ${RESERVED_LABELS.length}) <> '${RESERVED_LABELS}')`;

/** Removes the records of a session, or those with one label. */
export function* removeRecords(sessionId: string, label?: string): Operation<void> {
  if (label === undefined)
    yield* run(`DELETE FROM assistant_records WHERE session_id = ? AND ${PROGRAMS_OWN}`, sessionId);
  else yield* run(`DELETE FROM assistant_records WHERE ${IN_SCOPE}`, sessionId, label);
}

// By chance, so that a key that was deleted and written anew has no version again.
function newVersion(): number {
  return 1 + Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

/** Removes some of the records that have expired. */
export function* sweepRecords(sql: Dialect): Operation<void> {
  const { condition: now, values } = timeNow(sql);
  const expired = `SELECT session_id, label, key FROM assistant_records WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${SWEPT}`;
  if (sql.layout !== "spread") {
    // Two that sweep at once take different rows, and wait for nobody.
    const unlocked = sql.lockSession === null ? expired : `${expired} FOR UPDATE SKIP LOCKED`;
    return yield* run(`DELETE FROM assistant_records WHERE (session_id, label, key) IN (${unlocked})`, ...values);
  }
  // A server removes its own rows only.
  const rows = yield* all<{ session_id: string; label: string; key: string }>(expired, ...values);
  for (const { session_id, label, key } of rows) {
    const removal = `DELETE FROM assistant_records WHERE ${IN_SCOPE} AND key = ? AND expires_at <= ${now}`;
    yield* run(removal, session_id, label, key, ...values);
  }
}

function recordOf(sql: Dialect, { key, value, version, expires_at }: RecordRow): StoredRecord {
  return {
    key,
    value: sql.bytes.decode(value),
    version: Number(version),
    expiresAt: expires_at === null ? null : Number(expires_at),
  };
}

const IN_SCOPE = "session_id = ? AND label = ?";

/** The time now: the server's, where there is one, so that clocks of several machines are never compared. */
function timeNow({ serverTime }: Dialect): Condition {
  return serverTime === null ? { condition: "?", values: [Date.now()] } : { condition: serverTime, values: [] };
}

/** Of records whose time has not come. */
function present(sql: Dialect): Condition {
  const { condition, values } = timeNow(sql);
  return { condition: `(expires_at IS NULL OR expires_at > ${condition})`, values };
}

/** The columns of a record in the order in which they are written. */
type RecordValues = readonly [
  value: SqlValue,
  version: number,
  expiresAt: number | null,
  sessionId: string,
  label: string,
  key: string,
];

function rowOf(
  sql: Dialect,
  { sessionId, label }: RecordScope,
  key: string,
  value: Uint8Array,
  version: number,
  expiresAt: number | null,
): RecordValues {
  return [sql.bytes.encode(value), version, expiresAt, sessionId, label, key];
}

/** Inserts rows of new records. False where one of the records is there already; the others are written then. */
function* insertRows(sql: Dialect, rows: readonly RecordValues[]): Operation<boolean> {
  const inserted = yield* count(`${insertInto(sql, rows.length)} DO NOTHING`, ...rows.flat());
  return inserted === rows.length;
}

function insertInto(sql: Dialect, rows: number): string {
  const row = `(${sql.bytes.bound}, ?, ?, ?, ?, ?)`;
  const values = Array.from({ length: rows }, () => row).join(", ");
  return `INSERT INTO assistant_records (value, version, expires_at, session_id, label, key) VALUES ${values} ON CONFLICT`;
}

/**
 * Writes a record's row. False where the record is not at the version that is expected, or another writer came in between.
 * What is expected is compared by the statement that writes, so a writer that lost the race does not write over the other.
 */
function* putRow(sql: Dialect, row: RecordValues, expectedVersion: number | undefined): Operation<boolean> {
  const condition = replaceable(sql, expectedVersion);
  if (expectedVersion === undefined || expectedVersion === 0) {
    const upsert =
      sql.layout === "local"
        ? `(session_id, label, key) DO UPDATE SET ${EXCLUDED} WHERE ${condition.condition}`
        : "DO NOTHING";
    const insert = `${insertInto(sql, 1)} ${upsert}`;
    if ((yield* count(insert, ...row, ...(sql.layout === "local" ? condition.values : []))) > 0) return true;
    if (sql.layout === "local") return false;
  }
  const update = `UPDATE assistant_records SET value = ${sql.bytes.bound}, version = ?, expires_at = ?
    WHERE ${IN_SCOPE} AND key = ? AND ${condition.condition}`;
  return (yield* count(update, ...row, ...condition.values)) > 0;
}

const EXCLUDED = "value = excluded.value, version = excluded.version, expires_at = excluded.expires_at";

// Which row may be written over. What has expired is not there, though its row is.
function replaceable(sql: Dialect, expectedVersion: number | undefined): Condition {
  if (expectedVersion === undefined) return { condition: "TRUE", values: [] };
  const { condition, values } = present(sql);
  if (expectedVersion === 0) return { condition: `NOT ${condition}`, values };
  return { condition: `version = ? AND ${condition}`, values: [expectedVersion, ...values] };
}

/** The version of a record; 0 for one that is not there, or whose time has come. `lock` ends the query. */
function* presentVersion(sql: Dialect, scope: RecordScope, key: string, lock = ""): Operation<number> {
  const { condition, values } = present(sql);
  const query = `SELECT version FROM assistant_records WHERE ${IN_SCOPE} AND key = ? AND ${condition}${lock}`;
  return yield* oneNumber(query, scope.sessionId, scope.label, key, ...values);
}

/** Errors: `RECORD_CONFLICT` for another version than the expected one. */
function assertVersion(scope: RecordScope, key: string, expected: number | undefined, version: number): void {
  if (expected === undefined || expected === version) return;
  const message = `Record "${key}" is at version ${version}, not ${expected}: read it again, then write.`;
  throw new StemmaError("RECORD_CONFLICT", { ...scope, key, expectedVersion: expected, version }, message);
}
