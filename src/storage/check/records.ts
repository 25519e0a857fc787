import { isText, isWhole } from "./findings.js";
import { type KeyedRow, rowCheck } from "./row-check.js";

interface RecordRow extends KeyedRow {
  readonly label: string;
  readonly key: string;
  readonly version: number | string;
  readonly expires_at: number | string | null;
}

// Drivers of Postgres give a BIGINT as a text.
const isNumber = (value: unknown, least = Number.MIN_SAFE_INTEGER) => isWhole(Number(value), least);

const hasVersion = ({ version }: RecordRow) => isNumber(version, 1);
const hasEnd = ({ expires_at }: RecordRow) => expires_at === null || isNumber(expires_at);

/** Bytes mean nothing to a store, so only what stands beside them can be wrong. */
export const RECORDS = rowCheck<RecordRow>({
  table: "assistant_records",
  rule: "record",
  key: ["session_id", "label", "key"],
  columns: ["version", "expires_at"],
  idOf: ({ key }) => key,
  rulesFor: (row) => [
    [isText(row.session_id) && isText(row.label) && isText(row.key), "Its name is none."],
    [hasVersion(row), "Its version is no number from 1."],
    [hasEnd(row), "When it goes is no time."],
  ],
  // Another version, and no end: whoever expects a version reads the record again.
  *mend(_sql, row, write) {
    if (hasVersion(row) && hasEnd(row)) return;
    yield* write("UPDATE assistant_records SET version = 1, expires_at = NULL");
  },
});
