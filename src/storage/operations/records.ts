import { invalid } from "../../errors.js";
import type { ListRecordsOptions, RecordScope, StoredRecord, WriteRecordOptions } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, column, count, first, type Operation, oneNumber, run } from "../engine/operation.js";
import { assertStorable, assertVersionNumber } from "./assert-storable.js";
import { orderedPage } from "./ordered-page.js";
import { assertVersion, IN_SCOPE, insertRows, present, presentVersion, putRow, rowOf, timeNow } from "./record-row.js";

interface RecordRow {
  readonly key: string;
  readonly value: unknown;
  readonly version: number;
  readonly expires_at: number | null;
}

/** A write of a record that expires takes away so many whose time has come. */
const SWEPT = 16;

/** See `RecordStore.get`. */
export function* readRecord(sql: Dialect, scope: RecordScope, key: string): Operation<StoredRecord | null> {
  const { condition, values } = present(sql);
  const query = `SELECT key, ${sql.bytes.read("value")} AS value, version, expires_at FROM assistant_records
     WHERE ${IN_SCOPE} AND key = ? AND ${condition}`;
  const row = yield* first<RecordRow>(query, scope.sessionId, scope.label, key, ...values);
  return row === undefined ? null : recordOf(sql, row);
}

/** See `RecordStore.set`. One statement, or two where the record expires. */
export function* writeRecord(
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
  // Whoever writes what expires takes away what has expired.
  if (expiresAt !== null) yield* sweep(sql);
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
  if (!sql.namesKeys && records.length > 1) {
    const rows = records.map(({ scope, key, value }) => rowOf(sql, scope, key, value, newVersion(), null));
    if (yield* insertRows(sql, rows)) return;
  }
  for (const { scope, key, value } of records) yield* writeRecord(sql, scope, key, value, {});
}

/** Nothing but `RECORD_CONFLICT` where the record is not at this version. It stays so until the transaction ends. */
export function* checkRecord(sql: Dialect, scope: RecordScope, key: string, version: number): Operation<void> {
  assertVersion(scope, key, version, yield* presentVersion(sql, scope, key, sql.forUpdate));
}

/** See `RecordStore.delete`. The row of a record whose time has come is left to who takes such rows away. */
export function* deleteRecord(
  sql: Dialect,
  scope: RecordScope,
  key: string,
  expectedVersion: number | undefined,
): Operation<boolean> {
  const [version, versions] = expectedVersion === undefined ? ["", []] : ["AND version = ?", [expectedVersion]];
  const { condition, values } = present(sql);
  const deletion = `DELETE FROM assistant_records WHERE ${IN_SCOPE} AND key = ? AND ${condition} ${version}`;
  while ((yield* count(deletion, [scope.sessionId, scope.label, key, ...values, ...versions])) === 0) {
    assertVersion(scope, key, expectedVersion, yield* presentVersion(sql, scope, key));
    if (!expectedVersion) return false;
  }
  return true;
}

/** See `RecordStore.list`. */
export function* listRecords(sql: Dialect, scope: RecordScope, options: ListRecordsOptions): Operation<StoredRecord[]> {
  const page = orderedPage(sql, "key", options);
  const { condition, values } = present(sql);
  const query = `SELECT key, ${sql.bytes.read("value")} AS value, version, expires_at FROM assistant_records
     WHERE ${IN_SCOPE} AND ${page.condition} AND ${condition} ${page.order}`;
  const rows = yield* all<RecordRow>(query, scope.sessionId, scope.label, ...page.values, ...values, page.limit);
  return rows.map((row) => recordOf(sql, row));
}

/** See `RecordStore.labels`. */
export function* listRecordLabels(sql: Dialect, sessionId: string): Operation<string[]> {
  const { condition, values } = present(sql);
  const query = `SELECT label FROM assistant_records WHERE session_id = ? AND ${condition} GROUP BY label ORDER BY ${sql.bytes.ordered("label")}`;
  return yield* column<string>(query, sessionId, ...values);
}

/** See `RecordStore.expire`. */
export function* expireRecords(sql: Dialect, scope: RecordScope, prefix: string, after: number): Operation<void> {
  const page = orderedPage(sql, "key", { prefix });
  const { condition, values } = timeNow(sql);
  const update = `UPDATE assistant_records SET expires_at = ${condition} + ? WHERE ${IN_SCOPE} AND ${page.condition}`;
  yield* run(update, ...values, after, scope.sessionId, scope.label, ...page.values);
}

/** See `RecordStore.now`. */
export const readServerTime = (time: string): Operation<number> => oneNumber(`SELECT ${time}`);

/** Copies a record of a session to another one. */
export function* copyRecord(from: RecordScope, key: string, sessionId: string): Operation<void> {
  const insertion = `INSERT INTO assistant_records (session_id, label, key, value, version, expires_at)
     SELECT ?, label, key, value, version, expires_at FROM assistant_records WHERE ${IN_SCOPE} AND key = ?`;
  yield* run(insertion, sessionId, from.sessionId, from.label, key);
}

/** Removes the records of a session, or those with one label. */
export function* removeRecords(sessionId: string, label?: string): Operation<void> {
  if (label === undefined) yield* run("DELETE FROM assistant_records WHERE session_id = ?", sessionId);
  else yield* run(`DELETE FROM assistant_records WHERE ${IN_SCOPE}`, sessionId, label);
}

// By chance, so that a key that was deleted and written anew has no version again.
function newVersion(): number {
  return 1 + Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

function* sweep(sql: Dialect): Operation<void> {
  const { condition: now, values } = timeNow(sql);
  const expired = `SELECT session_id, label, key FROM assistant_records WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${SWEPT}`;
  const removals = `DELETE FROM assistant_records WHERE (session_id, label, key) IN (${expired})`;
  if (!sql.isSpread) return yield* run(removals, ...values);
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
