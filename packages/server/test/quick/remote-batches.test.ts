// The calls of one request of `stemma/remote` that write to a session: one transaction, and an answer for each.
import { stringifyTagged } from "@stemma/model";
import type { Connection, Statement, Store } from "@stemma/store";
import { expect, it } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

async function world() {
  const server = await serveRest();
  const rpc = async (calls: readonly object[], fields: object = {}, key?: string) => {
    const body = stringifyTagged({ client: "c", batch: 0, ...fields, calls });
    const headers = { "content-type": "application/json", "content-length": String(body.length) };
    const response = await server.send("POST", "/v1/rpc", { body, headers, ...(key === undefined ? {} : { key }) });
    const lines = (await response.text()).split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).sort((a, b) => a.n - b.n);
  };
  const idsIn = async (id = "s") => (await server.store.session(id).path()).messages.map(({ id }) => id);
  return { ...server, rpc, idsIn };
}

const append = (n: number, id = `m${n}`, session = "s", ...parent: string[]) => ({
  n,
  call: "session.append",
  session,
  values: [[said(id)], ...parent],
});

/** Counts what is written from now on. */
function counting({ observeStatements }: Store) {
  const counts = { transactions: 0, written: 0 };
  observeStatements?.(<C extends Connection>(connection: C): C => {
    if (connection.kind !== "sync") return connection;
    const counted = (statement: Statement) => {
      if (/INTO assistant_records/.test(statement.sql)) counts.written += 1;
      return connection.count?.(statement) ?? 0;
    };
    const begin: typeof connection.begin = (mode) => {
      if (mode !== "read") counts.transactions += 1;
      return connection.begin?.(mode) as NonNullable<ReturnType<NonNullable<typeof connection.begin>>>;
    };
    return { ...connection, count: counted, begin };
  });
  return counts;
}

it("writes what one session is asked for in one transaction, and remembers it in one row", async () => {
  const { rpc, store, idsIn } = await world();
  await rpc([append(100, "first")], { batch: 100 });
  const counts = counting(store);
  await rpc(Array.from({ length: 20 }, (_, n) => append(n)));
  expect(counts).toEqual({ transactions: 1, written: 1 });
  expect((await idsIn()).length).toBe(21);
});

it.each([
  [{ userId: "ada" }, 1],
  // The session is made the project's before.
  [{ project: "trip" }, 2],
])("does so where it is asked first whose the session is: %j", async (access, made) => {
  const { rpc, store, idsIn, keyOf } = await world();
  const key = await keyOf(access);
  await rpc([{ n: 100, call: "sessions.list", values: [] }], {}, key);
  const counts = counting(store);
  const leaf = { n: 20, call: "session.leaf", session: "s", values: [] };
  const lines = await rpc([...Array.from({ length: 20 }, (_, n) => append(n)), leaf, append(21)], {}, key);
  expect(counts).toEqual({ transactions: made + 1, written: 2 });
  expect(lines[20].value.id).toBe("m19");
  expect((await idsIn()).length).toBe(21);
  // Of another one's session all are refused, and nothing waits for them.
  const other = await keyOf({ userId: "bob" });
  const refused = await rpc([append(0, "x"), append(1, "y"), append(2, "z", "own")], { client: "d" }, other);
  expect(refused.map((line) => line.error?.code)).toEqual(["SESSION_NOT_FOUND", "SESSION_NOT_FOUND", undefined]);
});

it("answers each call by itself, in the order of all calls", async () => {
  const { rpc, idsIn } = await world();
  const read = { n: 3, call: "session.leaf", session: "s", values: [] };
  const lines = await rpc([
    append(0),
    append(1, "b", "s", "none"),
    append(2),
    read,
    append(4),
    append(5, "o", "other"),
  ]);
  expect(lines.map((line) => line.error?.code ?? line.value?.lastId ?? line.value.id)).toEqual([
    "m0",
    "PARENT_NOT_FOUND",
    "m2",
    "m2",
    "m4",
    "o",
  ]);
  expect([await idsIn(), await idsIn("other")]).toEqual([["m0", "m2", "m4"], ["o"]]);
});

it("does a call once that comes again, with others or alone, and those of each principal by themselves", async () => {
  const { rpc, idsIn, store, keyOf } = await world();
  const calls = [append(0), { n: 1, call: "session.delete", session: "s", values: [["m0"]] }, append(2)];
  const first = await rpc(calls);
  await store.session("s").append([said("m0")]);
  expect(await rpc(calls, { again: true })).toEqual(first);
  expect(await rpc(calls.slice(1), { again: true })).toEqual(first.slice(1));
  expect(await idsIn()).toEqual(["m2", "m0"]);
  await rpc(calls.slice(1, 2), {}, await keyOf());
  expect(await idsIn()).toEqual(["m2"]);
});

it("counts no write of a quota that was done before", async () => {
  const { rpc, idsIn, keyOf } = await world();
  const key = await keyOf({ quota: { writesPerDay: 3 } });
  await rpc([append(0), append(1)], {}, key);
  await rpc([append(0), append(1), append(2)], { again: true }, key);
  expect((await rpc([append(3)], { batch: 3 }, key))[0].error.code).toBe("QUOTA_EXCEEDED");
  expect(await idsIn()).toEqual(["m0", "m1", "m2"]);
});
