import { stringifyTagged } from "@stemma/model";
import { memory } from "@stemma/store/memory";
import { describe, expect, it, vi } from "vitest";
import { authenticator, createServer, type Principal, Quotas, RateLimits, UserTokens } from "../../src/index.js";
import { HOST, said, serveRest } from "./rest-helpers.js";

type Server = Awaited<ReturnType<typeof serveRest>>;

/** Appends a message, in a body that says how long it is. */
function append({ ask }: Pick<Server, "ask">, key: string, id: string, more: Record<string, string> = {}) {
  const body = JSON.stringify({ messages: [said(id)] });
  const headers = { "content-type": "application/json", "content-length": String(body.length), ...more };
  return ask("POST", "/v1/sessions/s/messages", { key, body, headers });
}

function rpc({ send }: Pick<Server, "send">, key: string, calls: readonly object[], fields: object = {}) {
  const body = stringifyTagged({ client: "c", ...fields, calls });
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  return send("POST", "/v1/rpc", { key, body, headers });
}

/** In the order of the calls: an answer that is slow has them as they come. */
const linesOf = async (response: Response) =>
  (await response.text())
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .sort((a, b) => a.n - b.n);

describe("a key with a quota", () => {
  it("is refused with a problem that says which limit, and when it may come again", async () => {
    const server = await serveRest();
    const key = await server.keyOf({ quota: { writesPerDay: 2 } });
    expect((await append(server, key, "a")).status).toBe(200);
    expect((await append(server, key, "b")).status).toBe(200);
    const { status, headers, body } = await append(server, key, "c");
    const resetsAt = new Date(Math.ceil((Date.now() + 1) / 86_400_000) * 86_400_000).toISOString();
    expect([status, body]).toEqual([
      429,
      expect.objectContaining({
        type: "urn:stemma:error:QUOTA_EXCEEDED",
        code: "QUOTA_EXCEEDED",
        details: { quota: "writesPerDay", limit: 2, used: 2, resetsAt, retryAfter: expect.any(Number) },
      }),
    ]);
    expect(headers.get("retry-after")).toBe(String(body.details.retryAfter));
    expect(await server.store.session("s").length()).toBe(2);
    expect((await server.ask("GET", "/v1/sessions/s/messages", { key })).status).toBe(200);
  });

  it("is told its limits with every answer, as headers that pages may read", async () => {
    const limits = new RateLimits({ perMinute: 60 });
    const server = await serveRest({ limits, origins: ["https://app.example.com"] });
    const key = await server.keyOf({ quota: { requestsPerDay: 3, bytesPerDay: 1_000 } });
    const origin = { origin: "https://app.example.com" };
    const read = () => server.ask("GET", "/v1/sessions", { key, headers: origin });
    const { headers } = await read();
    expect(headers.get("ratelimit-policy")).toBe(
      '"perMinute";q=60;w=60, "requestsPerDay";q=3;w=86400, "bytesPerDay";q=1000;w=86400;qu="content-bytes"',
    );
    expect(headers.get("ratelimit")).toMatch(/^"perMinute";r=59;t=1, "requestsPerDay";r=2;t=\d+$/);
    expect(headers.get("access-control-expose-headers")).toContain("ratelimit,ratelimit-policy");
    await append(server, key, "a");
    expect((await read()).headers.get("ratelimit")).toMatch(/"requestsPerDay";r=0;t=\d+, "bytesPerDay";r=9\d\d;t=\d+$/);
    const refused = await read();
    expect([refused.status, refused.headers.get("ratelimit")]).toEqual([
      429,
      expect.stringMatching(/"requestsPerDay";r=0;t=\d+/),
    ]);
    expect((await server.ask("GET", "/v1/sessions", { key: "stm_nonsense" })).headers.get("ratelimit")).toBeNull();
    expect((await server.ask("GET", "/healthz", { key: "" })).headers.get("ratelimit")).toBeNull();
  });

  it("writes no more bytes than it has, and a body of unknown length counts as the largest", async () => {
    const server = await serveRest({ maxBodyBytes: 1_000 });
    const key = await server.keyOf({ quota: { bytesPerDay: 1_500 } });
    const stream = () => new Response(`${JSON.stringify({ id: "x" })}\n`).body as BodyInit;
    const imported = () =>
      server.ask("POST", "/v1/sessions/s/import", {
        key,
        body: stream(),
        headers: { "content-type": "application/x-ndjson" },
      });
    expect((await imported()).body.code).not.toBe("QUOTA_EXCEEDED");
    expect((await imported()).body.code).toBe("QUOTA_EXCEEDED");
    for (const length of ["-1", "x", ""]) {
      expect((await append(server, key, "a", { "content-length": length })).body.code).toBe("QUOTA_EXCEEDED");
    }
    expect((await append(server, key, "a")).status).toBe(200);
  });

  it("is not refused, or counted, for a write that is there already", async () => {
    const server = await serveRest();
    const key = await server.keyOf({ quota: { writesPerDay: 1 } });
    const again = { "idempotency-key": "once" };
    expect((await append(server, key, "a", again)).body).toEqual({ insertedIds: ["a"] });
    expect((await append(server, key, "a", again)).body).toEqual({ insertedIds: ["a"] });
    expect((await append(server, key, "b", { "idempotency-key": "other" })).body.code).toBe("QUOTA_EXCEEDED");
    expect((await append(server, key, "b", again)).body.code).toBe("OPERATION_CONFLICT");
    expect(await server.store.session("s").length()).toBe(1);
  });

  it("of a handler of yours counts what is sent as a write", async () => {
    const server = await serveRest({ handlers: { "/mine": () => new Response("done") } });
    const key = await server.keyOf({ quota: { writesPerDay: 1 } });
    expect((await server.send("GET", "/mine", { key })).status).toBe(200);
    expect((await server.send("POST", "/mine", { key })).status).toBe(200);
    expect((await server.send("POST", "/mine", { key })).status).toBe(429);
    expect((await server.send("GET", "/mine", { key })).status).toBe(200);
  });

  it("that is revoked meanwhile is let in no more, and a new one begins anew", async () => {
    const server = await serveRest({ withAccess: true });
    const admin = await server.keyOf({ access: "admin" });
    const quota = { requestsPerDay: 1 };
    const make = () => server.ask("POST", "/v1/keys", { key: admin, json: { name: "k", quota } });
    const { id, key } = (await make()).body;
    expect((await server.ask("GET", "/v1/sessions", { key })).status).toBe(200);
    expect((await server.ask("GET", "/v1/sessions", { key })).status).toBe(429);
    await server.ask("DELETE", `/v1/keys/${id}`, { key: admin });
    expect((await server.ask("GET", "/v1/sessions", { key })).status).toBe(401);
    expect((await server.ask("GET", "/v1/sessions", { key: (await make()).body.key })).status).toBe(200);
  });

  it("has it in lists, and tells how far it is used up; of others only administrators learn it", async () => {
    const server = await serveRest({ withAccess: true });
    const admin = await server.keyOf({ access: "admin" });
    const quota = { requestsPerDay: 10, writesPerDay: 5 };
    const { id, key } = (await server.ask("POST", "/v1/keys", { key: admin, json: { name: "k", quota } })).body;
    const listed = (await server.ask("GET", "/v1/keys", { key: admin })).body.data;
    expect(listed).toContainEqual(expect.objectContaining({ id, quota }));
    await append(server, key, "a");
    const rows = [
      { quota: "requestsPerDay", limit: 10, used: 2, resetsAt: expect.any(String) },
      { quota: "writesPerDay", limit: 5, used: 1, resetsAt: expect.any(String) },
    ];
    expect((await server.ask("GET", "/v1/quota", { key })).body).toEqual({ data: rows, nextCursor: null });
    expect((await server.ask("GET", `/v1/quota?key=${id}`, { key: admin })).body.data).toEqual(rows);
    const others = await Promise.all([
      server.ask("GET", `/v1/quota?key=${id}`, { key }),
      server.ask("GET", `/v1/quota?key=${id}`, { key: await server.keyOf({ access: "admin", userId: "ada" }) }),
      server.ask("GET", "/v1/quota?key=nothing", { key: admin }),
      server.ask("GET", "/v1/quota", { key: admin }),
      server.ask("GET", "/v1/quota", { key: await server.keyOf({ access: "mint", quota }) }),
    ]);
    expect(others.map(({ body }) => body.code ?? body.data.length)).toEqual([
      "FORBIDDEN",
      "FORBIDDEN",
      "NOT_FOUND",
      0,
      "FORBIDDEN",
    ]);
  });

  it.each([
    {},
    { writesPerDay: 0 },
    { writesPerDay: -5 },
    { writesPerDay: "9" },
    { writesPerDay: 1.5 },
    { perDay: 1 },
    null,
    7,
  ])("is made with a quota that can be, of which %j is one or none", async (quota) => {
    const server = await serveRest({ withAccess: true });
    const admin = await server.keyOf({ access: "admin" });
    const { status } = await server.ask("POST", "/v1/keys", { key: admin, json: { name: "k", quota } });
    expect(status).toBe(JSON.stringify(quota) === "{}" ? 201 : 400);
  });
});

describe("tokens", () => {
  const tokenOf = async ({ ask }: Server, key: string, json: object) =>
    (await ask("POST", "/v1/tokens", { key, json })).body;

  it("use up the quota of the key that made them, whoever they are for", async () => {
    const server = await serveRest({ withAccess: true });
    const mint = await server.keyOf({ access: "mint", quota: { requestsPerDay: 5 } });
    const tokens = [await tokenOf(server, mint, { userId: "ada" }), await tokenOf(server, mint, { userId: "bob" })];
    const answers: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      answers.push((await server.ask("GET", "/v1/sessions", { key: tokens[turn % 2].token })).status);
    }
    expect(answers).toEqual([200, 200, 200, 429]);
    expect((await tokenOf(server, mint, { userId: "eve" })).code).toBe("QUOTA_EXCEEDED");
  });

  it("that are keys do so, too, and have no quota of their own", async () => {
    const server = await serveRest({ withAccess: true });
    const admin = await server.keyOf({ access: "admin", quota: { requestsPerDay: 5 } });
    const make = (body: object) => server.ask("POST", "/v1/keys", { key: admin, json: { name: "made", ...body } });
    expect((await make({ quota: { requestsPerDay: 9 } })).status).toBe(403);
    const made = (await make({ access: "admin" })).body as { key: string };
    const again = await server.ask("POST", "/v1/keys", { key: made.key, json: { name: "made by the made" } });
    const { key } = again.body as { key: string };
    const answers: number[] = [];
    for (const each of [key, made.key, key])
      answers.push((await server.ask("GET", "/v1/sessions", { key: each })).status);
    expect([again.status, answers]).toEqual([201, [200, 200, 429]]);
  });

  it("are given no quota by a request, nor another one's count", async () => {
    const server = await serveRest({ withAccess: true });
    const mint = await server.keyOf({ access: "mint", quota: { requestsPerDay: 50 } });
    for (const more of [{ quota: { requestsPerDay: 9 } }, { quota: {} }, { countedAs: "other" }]) {
      expect((await tokenOf(server, mint, { userId: "ada", ...more })).code).toBe("INVALID_ARGUMENT");
    }
  });

  it("that are forged are nobody's, whatever quota they claim", async () => {
    const server = await serveRest({ withAccess: true });
    const forged = new UserTokens("x".repeat(32), { audience: HOST });
    const { token } = await forged.create({ userId: "ada", quota: {}, countedAs: "nobody" });
    expect((await server.ask("GET", "/v1/sessions", { key: token })).status).toBe(401);
    const mint = await server.keyOf({ access: "mint", quota: { requestsPerDay: 2 } });
    const real = (await tokenOf(server, mint, { userId: "ada" })).token as string;
    const [head, body = "", signature] = real.split(".");
    const claims = JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/")));
    const changed = btoa(JSON.stringify({ ...claims, reach: {} })).replaceAll("=", "");
    expect((await server.ask("GET", "/v1/sessions", { key: `${head}.${changed}.${signature}` })).status).toBe(401);
  });

  it("of a program of yours have the quota that it says, each user one", async () => {
    const server = await serveRest();
    const tokens = new UserTokens(server.store, { audience: HOST });
    const tokenFor = async (userId: string) => (await tokens.create({ userId, quota: { requestsPerDay: 1 } })).token;
    const answers = [
      await server.ask("GET", "/v1/sessions", { key: await tokenFor("ada") }),
      await server.ask("GET", "/v1/sessions", { key: await tokenFor("ada") }),
      await server.ask("GET", "/v1/sessions", { key: await tokenFor("bob") }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
  });
});

describe("a principal of your own", () => {
  const serve = (principal: Principal) => {
    const authenticate = authenticator({ authenticate: () => principal });
    const server = createServer(memory(), { authenticate });
    return async () => (await server(new Request(`${HOST}/v1/sessions`))).status;
  };

  it("may have a quota", async () => {
    const ask = serve({ id: "me", access: "memory", quota: { requestsPerDay: 1 } });
    expect([await ask(), await ask()]).toEqual([200, 429]);
  });

  it.each([
    { quota: { requestsPerDay: -1 } },
    { quota: { requestsPerDay: undefined } },
    { quota: undefined },
    { countedAs: 7 },
  ])("is refused with %j", async (wrong) => {
    expect(await serve({ id: "me", access: "memory", ...(wrong as object) })()).toBe(400);
  });
});

describe("calls of stemma/remote", () => {
  const write = (n: number, id = `m${n}`) => ({ n, call: "session.append", session: "s", values: [[said(id)]] });
  const read = (n: number) => ({ n, call: "sessions.count", values: [] });

  it("are a request each", async () => {
    const server = await serveRest();
    const key = await server.keyOf({ quota: { requestsPerDay: 30 } });
    const reads = (count: number) => Array.from({ length: count }, (_, n) => read(n));
    expect((await rpc(server, key, reads(20))).status).toBe(200);
    const refused = await rpc(server, key, reads(1_000));
    expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ code: "QUOTA_EXCEEDED" })]);
    expect((await rpc(server, key, reads(9))).status).toBe(200);
    expect((await rpc(server, key, reads(1))).status).toBe(429);
  });

  it("that write are a write each; beyond the quota those that read are answered", async () => {
    const requests: unknown[] = [];
    const server = await serveRest({ onRequest: ({ code }) => requests.push(code) });
    const key = await server.keyOf({ quota: { writesPerDay: 3 } });
    const [, second] = [
      await rpc(server, key, [write(0), write(1)]),
      await rpc(server, key, [write(2), read(3), write(4)]),
    ];
    const lines = await linesOf(second);
    expect(lines.map(({ n, error, value }) => [n, error?.code ?? value])).toEqual([
      [2, "QUOTA_EXCEEDED"],
      [3, 1],
      [4, "QUOTA_EXCEEDED"],
    ]);
    expect(lines[0].error.details).toMatchObject({ quota: "writesPerDay", limit: 3, used: 2 });
    expect(await server.store.session("s").length()).toBe(2);
    expect(requests).toEqual([null, "QUOTA_EXCEEDED"]);
    expect((await linesOf(await rpc(server, key, [write(5)])))[0].error).toBeUndefined();
  });

  it("that were done are answered when they are asked for again, and others are not for that word", async () => {
    const server = await serveRest();
    const key = await server.keyOf({ quota: { writesPerDay: 1 } });
    const first = await linesOf(await rpc(server, key, [write(0)]));
    expect(await linesOf(await rpc(server, key, [write(0)], { again: true }))).toEqual(first);
    const block = { n: 0, call: "blocks.set", values: [{ sessionId: "s", kind: "block", label: "l" }, "text"] };
    for (const call of [write(1), block, { ...write(0), user: "ada" }]) {
      const [line] = await linesOf(await rpc(server, key, [call], { again: true }));
      expect([call, line.error?.code]).toEqual([call, "QUOTA_EXCEEDED"]);
    }
    const other = { ...write(2), once: { id: "c/0" } };
    expect((await linesOf(await rpc(server, key, [other], { again: true })))[0].error.code).toBe("OPERATION_CONFLICT");
    expect(await server.store.session("s").length()).toBe(1);
  });

  it("that cannot be made do not keep others from it", async () => {
    const server = await serveRest();
    const key = await server.keyOf({ userId: "ada", quota: { writesPerDay: 50 } });
    const foreign = { ...write(0), user: "bob" };
    const lines = await linesOf(await rpc(server, key, [foreign, write(1)], { again: true }));
    expect(lines.map(({ n, error }) => [n, error === undefined])).toEqual([
      [0, false],
      [1, true],
    ]);
  });
});

it("tells onError when the count cannot be kept, and answers", async () => {
  const store = memory();
  const errors: unknown[] = [];
  const authenticate = () => ({ id: "a", access: "memory", quota: { requestsPerDay: 1 } }) as const;
  const server = createServer(store, { authenticate, onError: (_, requestId) => errors.push(requestId) });
  vi.spyOn(store.records, "get").mockRejectedValue(new Error("down"));
  const ask = async () => (await server(new Request(`${HOST}/v1/sessions`))).status;
  expect([await ask(), await ask()]).toEqual([200, 200]);
  expect(errors).toEqual(["quotas", "quotas"]);
});

it("is held by a server with a quota for everybody", async () => {
  const store = memory();
  const server = await serveRest({ quotas: new Quotas(store, { quota: { requestsPerDay: 1 } }) }, store);
  const keys = [await server.keyOf(), await server.keyOf({ quota: { requestsPerDay: 2 } })];
  const answers: number[] = [];
  for (const key of [...keys, ...keys, ...keys])
    answers.push((await server.ask("GET", "/v1/sessions", { key })).status);
  expect(answers).toEqual([200, 200, 429, 200, 429, 429]);
});
