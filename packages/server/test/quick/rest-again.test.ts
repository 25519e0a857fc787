// Every route that writes, asked twice under one key: a route that is added is in it by itself.
import { describe, expect, it } from "vitest";
import { newStore, serveRest } from "./rest-helpers.js";
import { COMPACTION, prepareWrites, TELLING, WRITES } from "./rest-writes.js";
import { withEverything } from "./with-everything.js";

async function world(route: string) {
  const server = await serveRest({ sessions: withEverything });
  const { ask } = server;
  await prepareWrites(ask);
  const needsOne = route.includes("{compaction}");
  const compaction = needsOne ? (await ask("POST", "/v1/sessions/chat/compactions", { json: COMPACTION })).body.id : "";
  /** All that is stored, but for times and what is remembered of requests. */
  const stored = async () => {
    const reads = [
      "/v1/sessions",
      "/v1/sessions/chat/tree",
      "/v1/sessions/chat/messages",
      "/v1/sessions/chat/compactions",
      "/v1/sessions/chat/usage",
      "/v1/sessions/chat/records/facts",
      "/v1/memory/user%3Aada/blocks",
      "/v1/memory/user%3Aada/blocks/notes/versions",
      "/v1/memory/user%3Aada/entries/facts",
      "/v1/memory/user%3Aada/entries/facts/k/versions",
      "/v1/memory/session%3Achat/blocks",
    ];
    const answers = await Promise.all(reads.map(async (each) => (await ask("GET", each)).body));
    return JSON.stringify(answers, (name, value) => (name === "requestId" ? undefined : value));
  };
  return { ...server, compaction, stored };
}

describe("a request with an Idempotency-Key", () => {
  it.each(WRITES)("is done once: $route", async ({ route, method, headers, body, pathWith }) => {
    const { ask, compaction, stored } = await world(route);
    const again = { headers: { ...headers, "idempotency-key": "request-1" }, ...(body !== undefined && { body }) };
    const send = () => ask(method, pathWith(compaction), again);
    const first = await send();
    const after = await stored();
    const second = await send();
    if (first.body?.code === "STORE_UNSUPPORTED") return;
    expect([first.status, first.body?.detail ?? ""]).toEqual([expect.toSatisfy((s: number) => s < 300), ""]);
    expect([second.status < 300, second.body?.detail ?? ""]).toEqual([true, ""]);
    if (!TELLING.includes(route)) expect(second.body).toEqual(first.body);
    expect(await stored()).toBe(after);
  });

  const append = (text: string) => ({
    json: { append: text, maxTokens: 100 },
    headers: { "idempotency-key": "request-1" },
  });
  const NOTES = "/v1/memory/user%3Aada/blocks/notes";

  it("is refused where another request had the key, and is a principal's own", async () => {
    const { ask, keyOf } = await serveRest();
    const other = await keyOf();
    expect((await ask("PATCH", NOTES, append("one"))).status).toBe(200);
    expect((await ask("PATCH", NOTES, append("two"))).body).toMatchObject({ code: "OPERATION_CONFLICT", status: 409 });
    expect((await ask("PUT", NOTES, { ...append("one"), json: { content: "x" } })).status).toBe(409);
    expect((await ask("PATCH", NOTES, { ...append("two"), key: other })).status).toBe(200);
    for (const key of ["", "a b", "x".repeat(256)]) {
      const refused = await ask("PATCH", NOTES, { ...append("one"), headers: { "idempotency-key": key } });
      expect([key, refused.status]).toEqual([key, 400]);
    }
  });

  it("is refused where another request has the key at the same time", async () => {
    const { ask } = await serveRest();
    const replaced = { json: { content: "two" }, headers: { "idempotency-key": "request-1" } };
    const asked = await Promise.all([ask("PATCH", NOTES, append("one")), ask("PUT", NOTES, replaced)]);
    expect(asked.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it("has the condition of the first time, also where what it names has changed since", async () => {
    const { ask } = await serveRest();
    const first = await ask("PUT", NOTES, { json: { content: "one" } });
    const headers = { "if-match": first.headers.get("etag") ?? "", "idempotency-key": "request-1" };
    const send = () => ask("PUT", NOTES, { json: { content: "two" }, headers });
    expect((await send()).status).toBe(200);
    expect(await send()).toMatchObject({ status: 200, body: { content: "two" } });
    const stale = { "if-match": headers["if-match"], "idempotency-key": "request-2" };
    for (let times = 0; times < 2; times += 1) {
      expect((await ask("PUT", NOTES, { json: { content: "three" }, headers: stale })).status).toBe(412);
    }
  });

  it("is done once by two servers that are asked at once", async () => {
    const store = await newStore();
    const servers = await Promise.all([serveRest({}, store), serveRest({}, store)]);
    const key = await servers[0].keyOf();
    const asked = Array.from({ length: 10 }, (_, i) => servers[i % 2]?.ask("PATCH", NOTES, { ...append("one"), key }));
    const statuses = (await Promise.all(asked)).map((answer) => answer?.status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await servers[0].ask("GET", NOTES)).body.content).toBe("one");
  });
});
