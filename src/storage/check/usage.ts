import { first } from "../engine/operation.js";
import { makeRow } from "../operations/register.js";
import { isText, isWhole } from "./findings.js";
import { needsSession, rowCheck } from "./row-check.js";

const COUNTERS = ["requests", "input_tokens", "output_tokens"] as const;

// Drivers of Postgres give a BIGINT as a text. A program may take tokens back, so sums may be below 0.
const isCount = (value: unknown) => isWhole(Number(value), Number.MIN_SAFE_INTEGER);

const isDay = (value: unknown) => /^\d{4}-\d\d-\d\d$/.test(String(value));

/** Stands for a day that nobody knows any more. */
const LOST_DAY = "1970-01-01";

/** What sessions used, by day and model. */
export const USAGE = rowCheck({
  table: "assistant_usage",
  rule: "usage",
  key: ["session_id", "day", "model"],
  columns: ["requests", "input_tokens", "output_tokens", "cost"],
  idOf: ({ day, model }) => `${day} ${model}`,
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [isText(row.session_id) && isText(row.model), "Its session or its model is no text."],
    [isDay(row.day), "Its day is none."],
    [COUNTERS.every((name) => isCount(row[name])), "One of its counters is no whole number."],
    [Number.isFinite(row.cost), "Its cost is no number."],
  ],
  *mend(sql, row, write) {
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(sql, row.session_id);
    for (const name of COUNTERS) if (!isCount(row[name])) yield* write(`UPDATE assistant_usage SET ${name} = 0`);
    if (!Number.isFinite(row.cost)) yield* write("UPDATE assistant_usage SET cost = 0");
    if (isDay(row.day)) return;
    const known = "SELECT 1 FROM assistant_usage WHERE session_id = ? AND day = ? AND model = ?";
    const isTaken = (yield* first(known, row.session_id, LOST_DAY, row.model)) !== undefined;
    if (!isTaken) yield* write("UPDATE assistant_usage SET day = ?", LOST_DAY);
  },
});
