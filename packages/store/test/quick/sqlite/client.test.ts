import { expect, it } from "vitest";
import { connectClient, type SqliteClient } from "../../../src/sqlite/client.js";

/** Answers as node:sqlite does, which refuses a whole number beyond 2^53 unless it may be a bigint. */
function refusing(): SqliteClient {
  return {
    prepare: () => {
      let givesBigInts = false;
      return {
        all: () => {
          if (givesBigInts) return [{ small: 7n, large: -(2n ** 60n), text: "x" }];
          throw Object.assign(new RangeError("Value is too large"), { code: "ERR_OUT_OF_RANGE" });
        },
        run: () => ({ changes: 0 }),
        setReadBigInts: (on: boolean) => {
          givesBigInts = on;
        },
      };
    },
    close: () => {},
  };
}

it("gives a whole number beyond 2^53 as the nearest number, in each form of an answer", () => {
  const { query, column, tuples } = connectClient(refusing());
  const statement = { sql: "SELECT", values: [] };
  for (const _ of ["once", "again"]) {
    expect(query(statement)).toEqual([{ small: 7, large: -(2 ** 60), text: "x" }]);
    expect(column?.(statement)).toEqual([7]);
    expect(tuples?.(statement)).toEqual([[7, -(2 ** 60), "x"]]);
  }
});
