// Whatever is sent to the route of `stemma/remote`: each refusal is a problem of the table, or the error of one call.
import { stringifyTagged } from "@stemma/model";
import { expect, it } from "vitest";
import { RateLimits } from "../../src/index.js";
import { said, serveRest } from "./rest-helpers.js";

const JSON_TYPE = { "content-type": "application/json" };

async function world() {
  const { send, store, keyOf, errors } = await serveRest();
  const rpc = async (body: BodyInit, key?: string, headers: Record<string, string> = JSON_TYPE) => {
    const response = await send("POST", "/v1/rpc", { body, headers, ...(key === undefined ? {} : { key }) });
    const text = await response.text();
    return {
      status: response.status,
      lines: text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    };
  };
  const calls = (list: readonly unknown[], key?: string) => rpc(stringifyTagged({ client: "c", calls: list }), key);
  return { rpc, calls, store, keyOf, errors };
}

it("refuses what is no request of calls", async () => {
  const { rpc, calls, errors } = await world();
  const call = { n: 0, call: "sessions.list", values: [] };
  const deep = `{"client":"c","calls":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  for (const body of ["", "{", "[]", "null", "7", '{"client":"c"}', '{"client":7,"calls":[]}', '{"calls":[]}', deep]) {
    expect((await rpc(body)).lines[0]).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  }
  for (const wrong of [
    null,
    "sessions.list",
    { ...call, n: -1 },
    { ...call, n: "0" },
    { ...call, values: {} },
    { ...call, user: 7 },
    { ...call, session: {} },
    { ...call, once: "x" },
    { ...call, once: { id: 7 } },
    { ...call, skip: -1 },
    { ...call, unknown: true },
    { ...call, call: "nowhere.list" },
    { ...call, call: "sessions.constructor" },
    { ...call, call: "__proto__.toString" },
    { ...call, call: "constructor.name" },
    { ...call, call: "sessions" },
    { ...call, call: "" },
  ]) {
    expect((await calls([wrong])).lines[0]).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  }
  const many = Array.from({ length: 1_001 }, (_, n) => ({ ...call, n }));
  expect((await calls(many)).status).toBe(400);
  const stream = { n: 1, call: "session.stream", session: "s", values: [] };
  expect((await calls([call, stream])).lines[0].detail).toContain("only call");
  expect((await rpc("{}", undefined, { ...JSON_TYPE, "content-encoding": "gzip" })).status).toBe(415);
  expect((await rpc("{}", undefined, { "content-type": "text/plain" })).status).toBe(415);
  expect(errors).toEqual([]);
});

it("answers the calls that can be made, and fails the others", async () => {
  const { calls, store } = await world();
  const { status, lines } = await calls([
    { n: 1, call: "session.append", session: "s", values: [[said("a")]] },
    { n: 2, call: "session.append", values: [[said("b")]] },
    { n: 3, call: "session.append", session: "s", values: [] },
    { n: 4, call: "session.append", session: "s", values: [[said("c")]] },
    { n: 5, call: "store.backup", values: ["/tmp/x.db"] },
    { n: 6, call: "store.close", values: [] },
    { n: 7, call: "store.writeTogether", values: ["x"] },
    { n: 8, call: "records.now", values: [] },
  ]);
  expect(status).toBe(200);
  expect(lines.map(({ n, error }) => [n, error?.code ?? null]).sort()).toEqual([
    [1, null],
    [2, "INVALID_ARGUMENT"],
    [3, expect.stringMatching(/^(INTERNAL|INVALID_ARGUMENT)$/)],
    [4, null],
    [5, "STORE_UNSUPPORTED"],
    [6, "STORE_UNSUPPORTED"],
    [7, expect.any(String)],
    [8, null],
  ]);
  expect(await store.session("s").length()).toBe(2);
});

it("tells strangers of a fault of the server no more than its code", async () => {
  const { calls, keyOf, errors } = await world();
  const key = await keyOf({ userId: "ada" });
  const { lines } = await calls([{ n: 1, call: "store.writeTogether", values: [[null]] }], key);
  expect(JSON.stringify(lines)).not.toMatch(/Cannot read|undefined|null/);
  expect(lines[0].error.code).toBeDefined();
  expect(errors.length).toBeLessThanOrEqual(1);
});

it("counts each call of a request against the limit of its key", async () => {
  const { send } = await serveRest({ limits: new RateLimits({ perMinute: 30 }) });
  const calls = (count: number) => {
    const list = Array.from({ length: count }, (_, n) => ({ n, call: "sessions.count", values: [] }));
    return send("POST", "/v1/rpc", { body: stringifyTagged({ client: "c", calls: list }), headers: JSON_TYPE });
  };
  expect((await calls(20)).status).toBe(200);
  expect((await calls(20)).status).toBe(200);
  const refused = await calls(1);
  expect([refused.status, Number(refused.headers.get("retry-after")) > 15]).toEqual([429, true]);
});

it("keeps the operations of two keys apart, whatever they call themselves", async () => {
  const { calls, keyOf, store } = await world();
  for (const userId of ["ada", "bob"]) {
    const key = await keyOf({ userId });
    const call = { n: 1, call: "session.append", session: `of-${userId}`, values: [[said("a")]] };
    for (let time = 0; time < 2; time += 1)
      expect((await calls([call], key)).lines[0].value.insertedIds).toEqual(["a"]);
    expect(await store.session(`of-${userId}`).length()).toBe(1);
  }
});
