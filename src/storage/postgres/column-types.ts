import type { Row } from "../engine/operation.js";
import type { PostgresRows } from "./driver.js";

type Read = (value: unknown) => unknown;

const number: Read = (value) => (value === null ? null : Number(value));

// Every client has its own idea of these types, and lets its user have another one.
const READS: Readonly<Record<number, Read>> = {
  16: (value) => value === true || value === "t",
  20: number, // int8: ours stay below 2^53
  21: number,
  23: number,
  700: number,
  701: number,
  1700: number,
  1184: isoText, // timestamptz
};

/** Rows whose numbers, booleans and times are as every store gives them. */
export function readRows({ rows, columns }: PostgresRows): Row[] {
  const reads = columns.flatMap(({ name, type }) => {
    const read = READS[type];
    return read === undefined ? [] : [{ name, read }];
  });
  if (reads.length > 0) {
    for (const row of rows) for (const { name, read } of reads) row[name] = read(row[name]);
  }
  return rows;
}

function isoText(value: unknown): unknown {
  if (value === null) return null;
  const date = value instanceof Date ? value : new Date(parseable(String(value)));
  return Number.isNaN(date.getTime()) ? value : date.toISOString();
}

// "2026-01-02 03:04:05.678901+00" as the standard writes it; the offset may have minutes.
function parseable(text: string): string {
  return text.replace(
    /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d*([+-]\d\d)(?::?(\d\d))?$/,
    (_, day, time, hours, minutes) => `${day}T${time}${hours}:${minutes ?? "00"}`,
  );
}
