import { expect, it } from "vitest";
import type { Row, Statement } from "../engine/operation.js";
import { gathering } from "./gathered.js";

const statement = (value: number): Statement => ({
  sql: "one",
  values: [value],
  together: { sql: "all", given: [value] },
});

/** Answers every statement with what it was given, and notes what ran. */
function answering(results?: (given: number[]) => (string | null)[] | Error) {
  const ran: string[] = [];
  const run = async ({ sql, values }: Statement): Promise<Row[]> => {
    ran.push(`${sql} ${values[0]}`);
    if (sql === "one") return [{ result: `alone ${values[0]}` }];
    const given = (JSON.parse(String(values[0])) as number[][]).flat();
    const found = results?.(given) ?? given.map((value) => `together ${value}`);
    if (found instanceof Error) throw found;
    return [{ results: JSON.stringify(found) }];
  };
  const gathered = gathering(run, run);
  const all = async (...values: number[]) =>
    (await Promise.all(values.map((value) => gathered(statement(value))))).map(([row]) => row?.result);
  return { ran, all, gathered };
}

it("runs by itself what nothing else is handed over with", async () => {
  const { ran, all } = answering();
  expect(await all(1)).toEqual(["alone 1"]);
  expect(await all(2)).toEqual(["alone 2"]);
  expect(ran).toEqual(["one 1", "one 2"]);
});

it("runs what is handed over in one turn as few statements of about the same size", async () => {
  const { ran, all } = answering();
  const values = Array.from({ length: 10 }, (_, index) => index);
  expect(await all(...values)).toEqual(values.map((value) => `together ${value}`));
  expect(ran.map((text) => text.split(",").length)).toEqual([2, 3, 2, 3]);
});

it("runs by itself what has no result, and everything where the statement of all failed", async () => {
  const some = answering((given) => given.map((value) => (value === 2 ? null : "done")));
  expect(await some.all(1, 2, 3)).toEqual(["done", "alone 2", "done"]);
  const none = answering(() => new Error("refused"));
  expect(await none.all(1, 2)).toEqual(["alone 1", "alone 2"]);
  expect(none.ran).toEqual(["all [[1],[2]]", "one 1", "one 2"]);
});

it("tells each of its own failure", async () => {
  const fail = async ({ sql, values }: Statement): Promise<Row[]> => {
    if (sql === "all" || values[0] === 2) throw new Error(`${sql} failed`);
    return [{ result: "done" }];
  };
  const gathered = gathering(fail, fail);
  const settled = await Promise.allSettled([1, 2, 3].map((value) => gathered(statement(value))));
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});
