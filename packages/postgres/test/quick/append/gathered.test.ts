import { expect, it } from "vitest";
import type { Row, Statement } from "../../../../store/src/engine/operation.js";
import { gathering } from "../../../src/drivers/connection.js";

const statement = (value: number): Statement => ({
  sql: "one",
  values: [value],
  together: { sql: "all", given: [value] },
});

/** Answers every statement with what it was given, and notes what ran. What is to run alone is null. */
function answering(results?: (given: number[]) => (string | null)[] | Error) {
  const ran: string[] = [];
  const run = async ({ sql, values }: Statement): Promise<Row[]> => {
    ran.push(`${sql} ${values[0]}`);
    const given = (JSON.parse(String(values[0])) as number[][]).flat();
    const found = results?.(given) ?? given.map((value) => `together ${value}`);
    if (found instanceof Error) throw found;
    return [{ results: JSON.stringify(found) }];
  };
  const gathered = gathering(run);
  const all = async (...values: number[]) =>
    (await Promise.all(values.map((value) => gathered(statement(value))))).map((rows) =>
      rows === null ? null : rows[0]?.result,
    );
  return { ran, all, gathered };
}

it("leaves alone what nothing else is handed over with", async () => {
  const { ran, all } = answering();
  expect(await all(1)).toEqual([null]);
  expect(await all(2)).toEqual([null]);
  expect(ran).toEqual([]);
});

it("runs what is handed over in one turn as few statements of about the same size", async () => {
  const { ran, all } = answering();
  const values = Array.from({ length: 10 }, (_, index) => index);
  expect(await all(...values)).toEqual(values.map((value) => `together ${value}`));
  expect(ran.map((text) => text.split(",").length)).toEqual([2, 3, 2, 3]);
});

it("leaves alone what has no result, and everything where the statement of all failed", async () => {
  const some = answering((given) => given.map((value) => (value === 2 ? null : "done")));
  expect(await some.all(1, 2, 3)).toEqual(["done", null, "done"]);
  const none = answering(() => new Error("refused"));
  expect(await none.all(1, 2)).toEqual([null, null]);
  expect(none.ran).toEqual(["all [[1],[2]]"]);
});

it("tells each where the connection was lost, and nobody knows what was done", async () => {
  const lost = answering(() => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
  const settled = await Promise.allSettled([1, 2].map((value) => lost.gathered(statement(value))));
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(lost.ran).toEqual(["all [[1],[2]]"]);
});
