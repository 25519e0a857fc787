import { isText, isWhole } from "./findings.js";
import { rowCheck } from "./row-check.js";

// Drivers of Postgres give a BIGINT as a text.
const isNumber = (value: unknown, least = Number.MIN_SAFE_INTEGER) => isWhole(Number(value), least);

const isVersion = (version: unknown) => isNumber(version, 1);
const isEnd = (time: unknown) => time === null || isNumber(time);

/** Bytes mean nothing to a store, so only what stands beside them can be wrong. */
export const RECORDS = rowCheck({
  table: "assistant_records",
  rule: "record",
  key: ["session_id", "label", "key"],
  columns: ["version", "expires_at"],
  idOf: ({ key }) => key,
  rulesFor: (row) => [
    [isText(row.session_id) && isText(row.label) && isText(row.key), "Its name is none."],
    [isVersion(row.version), "Its version is no number from 1."],
    [isEnd(row.expires_at), "When it goes is no time."],
  ],
  // Another version, and no end: whoever expects a version reads the record again.
  *mend(_sql, row, write) {
    if (isVersion(row.version) && isEnd(row.expires_at)) return;
    yield* write("UPDATE assistant_records SET version = 1, expires_at = NULL");
  },
});
