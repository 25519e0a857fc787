import { all, type Operation, run } from "../engine/operation.js";
import { type Findings, isText, isWhole } from "./findings.js";

// Bytes mean nothing to a store, so only what stands beside them can be wrong.

interface RecordRow {
  readonly session_id: string;
  readonly label: string;
  readonly key: string;
  readonly version: number | string;
  readonly expires_at: number | string | null;
}

const TABLE = "assistant_records";
const PAGE = 256;

function faultsOf({ session_id, label, key, version, expires_at }: RecordRow): string[] {
  const rules: [boolean, string][] = [
    [isText(session_id) && isText(label) && isText(key), "Its name is none."],
    [isNumber(version, 1), "Its version is no number from 1."],
    [expires_at === null || isNumber(expires_at), "When it goes is no time."],
  ];
  return rules.flatMap(([holds, message]) => (holds ? [] : [message]));
}

// Drivers of Postgres give a BIGINT as a text.
const isNumber = (value: unknown, least = Number.MIN_SAFE_INTEGER) => isWhole(Number(value), least);

function* scan(sessionId: string | undefined, visit: (row: RecordRow) => Operation<void>): Operation<void> {
  for (let from = 0; ; from += PAGE) {
    const rows = yield* all<RecordRow>(
      `SELECT session_id, label, key, version, expires_at FROM ${TABLE}${sessionId === undefined ? "" : " WHERE session_id = ?"}
       ORDER BY session_id, label, key LIMIT ${PAGE} OFFSET ${from}`,
      ...(sessionId === undefined ? [] : [sessionId]),
    );
    for (const row of rows) yield* visit(row);
    if (rows.length < PAGE) return;
  }
}

/** Holds the records against their rules. */
export function* checkRecords(sessionId: string | undefined, found: Findings): Operation<void> {
  // biome-ignore lint/correctness/useYield: the visitor of a scan is an operation, whether it asks something or not
  yield* scan(sessionId, function* (row) {
    found.count(TABLE, 1);
    for (const message of faultsOf(row)) found.add("record", TABLE, String(row.session_id), String(row.key), message);
  });
}

/** Gives a record whose version or time is none another version, and no end: whoever expects a version reads it again. */
export function* repairRecords(sessionId: string | undefined): Operation<void> {
  yield* scan(sessionId, function* (row) {
    if (isNumber(row.version, 1) && (row.expires_at === null || isNumber(row.expires_at))) return;
    yield* run(
      `UPDATE ${TABLE} SET version = 1, expires_at = NULL WHERE session_id = ? AND label = ? AND key = ?`,
      row.session_id,
      row.label,
      row.key,
    );
  });
}
