import { StemmaError } from "@stemma/model";
import type { Row, SqlValue } from "@stemma/store";

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
  1184: timeOf, // timestamptz
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

function timeOf(value: unknown): unknown {
  // A store sees to it when it opens. To guess here would be to take a day for a month.
  if (value !== null && !(value instanceof Date) && !IS_ISO.test(String(value))) {
    const message = `The connection writes times as "${value}": something changed its setting "datestyle" after the store was opened. Leave it as it was.`;
    throw new StemmaError("STORE_FAILED", {}, message);
  }
  return isoText(value);
}

// Or what is no date of JavaScript's.
const IS_ISO = /^(?:-?infinity$|\d{4,}-\d\d-\d\d )/;

/** A time as every store gives it; whatever else stands there as it is. */
export function isoText(value: unknown): unknown {
  if (value === null || typeof value === "number") return value;
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

export interface PostgresRows {
  readonly rows: Row[];
  /** Each column's name and the oid of its type. */
  readonly columns: readonly { readonly name: string; readonly type: number }[];
}

/** `isFrequent` as in `Statement`. */
export type PostgresQuery = (sql: string, values: readonly SqlValue[], isFrequent?: boolean) => Promise<PostgresRows>;

/** A client of Postgres, made alike. */
export interface PostgresDriver {
  /** False when a connection that was lost stays lost. */
  readonly reconnects: boolean;
  /** Statements run at the same time, each on a connection of its own. */
  readonly isPool: boolean;
  /** A transaction by itself. */
  readonly query: PostgresQuery;
  /**
   * Runs `work` between `BEGIN <characteristics>` and COMMIT, on one connection; ROLLBACK when it rejects. Without
   * just-in-time compilation, which takes longer than our statements do, and without going through a table that has an index.
   */
  transaction<T>(characteristics: string, work: (query: PostgresQuery) => Promise<T>): Promise<T>;
}

/** An array as Postgres reads one from text. */
export function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
