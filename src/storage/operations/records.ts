import { StemmaError } from "../../errors.js";
import type { ListRecordsOptions, RecordScope, StoredRecord, WriteRecordOptions } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, column, count, first, type Operation, run } from "../engine/operation.js";
import { orderedPage } from "./ordered-page.js";

interface RecordRow {
  readonly key: string;
  readonly value: unknown;
  readonly version: number;
  readonly expires_at: number | null;
}

const IN_SCOPE = "session_id = ? AND label = ?";
const PRESENT = "(expires_at IS NULL OR expires_at > ?)";

/** A write takes away so many records whose time has come. */
const SWEPT = 16;

/** See `RecordStore.get`. */
export function* readRecord(sql: Dialect, scope: RecordScope, key: string): Operation<StoredRecord | null> {
  const row = yield* first<RecordRow>(
    `SELECT key, ${sql.bytes.read("value")} AS value, version, expires_at FROM assistant_records
     WHERE ${IN_SCOPE} AND key = ? AND ${PRESENT}`,
    scope.sessionId,
    scope.label,
    key,
    Date.now(),
  );
  return row === undefined ? null : recordOf(sql, row);
}

/** See `RecordStore.set`. */
export function* writeRecord(
  sql: Dialect,
  scope: RecordScope,
  key: string,
  value: Uint8Array,
  {
    expectedVersion,
    expiresAt,
    // By chance, so that a key that was deleted and written anew has no version again.
    version = 1 + Math.floor(Math.random() * Number.MAX_SAFE_INTEGER),
  }: WriteRecordOptions,
): Operation<StoredRecord> {
  const insert = `INSERT INTO assistant_records (value, version, expires_at, session_id, label, key) VALUES (${sql.bytes.bound}, ?, ?, ?, ?, ?)`;
  const update = `UPDATE assistant_records SET value = ${sql.bytes.bound}, version = ?, expires_at = ? WHERE ${IN_SCOPE} AND key = ?`;
  // One statement where nothing is expected; else a writer that lost the race must not write over the other.
  const write =
    expectedVersion === undefined && sql.namesKeys
      ? `${insert} ON CONFLICT (session_id, label, key)
         DO UPDATE SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at`
      : (yield* openRecord(sql, scope, key, expectedVersion)) === null
        ? insert
        : update;
  yield* run(write, sql.bytes.encode(value), version, expiresAt ?? null, scope.sessionId, scope.label, key);
  yield* sweep();
  return { key, value, version, expiresAt: expiresAt ?? null };
}

/** See `RecordStore.delete`. */
export function* deleteRecord(
  sql: Dialect,
  scope: RecordScope,
  key: string,
  expectedVersion: number | undefined,
): Operation<boolean> {
  const before = yield* openRecord(sql, scope, key, expectedVersion);
  if (before === null) return false;
  yield* run(`DELETE FROM assistant_records WHERE ${IN_SCOPE} AND key = ?`, scope.sessionId, scope.label, key);
  return before.isPresent;
}

/** See `RecordStore.list`. */
export function* listRecords(sql: Dialect, scope: RecordScope, options: ListRecordsOptions): Operation<StoredRecord[]> {
  const page = orderedPage(sql, "key", options);
  const rows = yield* all<RecordRow>(
    `SELECT key, ${sql.bytes.read("value")} AS value, version, expires_at FROM assistant_records
     WHERE ${IN_SCOPE} AND ${page.condition} AND ${PRESENT} ${page.order}`,
    scope.sessionId,
    scope.label,
    ...page.values,
    Date.now(),
    page.limit,
  );
  return rows.map((row) => recordOf(sql, row));
}

/** See `RecordStore.labels`. */
export function* listRecordLabels(sql: Dialect, sessionId: string): Operation<string[]> {
  return yield* column<string>(
    `SELECT label FROM assistant_records WHERE session_id = ? AND ${PRESENT} GROUP BY label ORDER BY ${sql.bytes.ordered("label")}`,
    sessionId,
    Date.now(),
  );
}

/** Copies a record of a session to another one. */
export function* copyRecord(from: RecordScope, key: string, sessionId: string): Operation<void> {
  yield* run(
    `INSERT INTO assistant_records (session_id, label, key, value, version, expires_at)
     SELECT ?, label, key, value, version, expires_at FROM assistant_records WHERE ${IN_SCOPE} AND key = ?`,
    sessionId,
    from.sessionId,
    from.label,
    key,
  );
}

/** Removes the records of a session, or those with one label. */
export function* removeRecords(sessionId: string, label?: string): Operation<void> {
  if (label === undefined) yield* run("DELETE FROM assistant_records WHERE session_id = ?", sessionId);
  else yield* run(`DELETE FROM assistant_records WHERE ${IN_SCOPE}`, sessionId, label);
}

// The record as it is before a write; one whose time has come still has its row.
function* openRecord(sql: Dialect, scope: RecordScope, key: string, expectedVersion: number | undefined) {
  const row = yield* first<{ version: number; expires_at: number | null }>(
    `SELECT version, expires_at FROM assistant_records WHERE ${IN_SCOPE} AND key = ?${sql.forUpdate}`,
    scope.sessionId,
    scope.label,
    key,
  );
  const isPresent = row !== undefined && (row.expires_at === null || Number(row.expires_at) > Date.now());
  const version = isPresent ? Number(row.version) : 0;
  if (expectedVersion !== undefined && expectedVersion !== version) {
    const message = `Record "${key}" is at version ${version}, not ${expectedVersion}: read it again, then write.`;
    throw new StemmaError("RECORD_CONFLICT", { ...scope, key, expectedVersion, version }, message);
  }
  return row === undefined ? null : { isPresent };
}

function* sweep(): Operation<number> {
  return yield* count(
    `DELETE FROM assistant_records WHERE (session_id, label, key) IN
       (SELECT session_id, label, key FROM assistant_records WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEPT})`,
    [Date.now()],
  );
}

function recordOf(sql: Dialect, { key, value, version, expires_at }: RecordRow): StoredRecord {
  return {
    key,
    value: sql.bytes.decode(value),
    version: Number(version),
    expiresAt: expires_at === null ? null : Number(expires_at),
  };
}
