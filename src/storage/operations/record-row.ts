import { StemmaError } from "../../errors.js";
import type { RecordScope } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { type Condition, count, type Operation, oneNumber, type SqlValue } from "../engine/operation.js";

export const IN_SCOPE = "session_id = ? AND label = ?";

/** The time now: the server's, where there is one, so that clocks of several machines are never compared. */
export function timeNow({ serverTime }: Dialect): Condition {
  return serverTime === null ? { condition: "?", values: [Date.now()] } : { condition: serverTime, values: [] };
}

/** Of records whose time has not come. */
export function present(sql: Dialect): Condition {
  const { condition, values } = timeNow(sql);
  return { condition: `(expires_at IS NULL OR expires_at > ${condition})`, values };
}

/** The columns of a record in the order in which they are written. */
export type RecordValues = readonly [
  value: SqlValue,
  version: number,
  expiresAt: number | null,
  sessionId: string,
  label: string,
  key: string,
];

export function rowOf(
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
export function* insertRows(sql: Dialect, rows: readonly RecordValues[]): Operation<boolean> {
  const inserted = yield* count(`${insertInto(sql, rows.length)} DO NOTHING`, rows.flat());
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
export function* putRow(sql: Dialect, row: RecordValues, expectedVersion: number | undefined): Operation<boolean> {
  const condition = replaceable(sql, expectedVersion);
  if (expectedVersion === undefined || expectedVersion === 0) {
    const upsert = sql.namesKeys
      ? `(session_id, label, key) DO UPDATE SET ${EXCLUDED} WHERE ${condition.condition}`
      : "DO NOTHING";
    const insert = `${insertInto(sql, 1)} ${upsert}`;
    if ((yield* count(insert, sql.namesKeys ? [...row, ...condition.values] : row)) > 0) return true;
    if (sql.namesKeys) return false;
  }
  const update = `UPDATE assistant_records SET value = ${sql.bytes.bound}, version = ?, expires_at = ?
    WHERE ${IN_SCOPE} AND key = ? AND ${condition.condition}`;
  return (yield* count(update, [...row, ...condition.values])) > 0;
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
export function* presentVersion(sql: Dialect, scope: RecordScope, key: string, lock = ""): Operation<number> {
  const { condition, values } = present(sql);
  const query = `SELECT version FROM assistant_records WHERE ${IN_SCOPE} AND key = ? AND ${condition}${lock}`;
  return yield* oneNumber(query, scope.sessionId, scope.label, key, ...values);
}

/** Errors: `RECORD_CONFLICT` for another version than the expected one. */
export function assertVersion(scope: RecordScope, key: string, expected: number | undefined, version: number): void {
  if (expected === undefined || expected === version) return;
  const message = `Record "${key}" is at version ${version}, not ${expected}: read it again, then write.`;
  throw new StemmaError("RECORD_CONFLICT", { ...scope, key, expectedVersion: expected, version }, message);
}
