import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { StemmaClient } from "../../src/index.js";
import { remote } from "../../src/remote/remote.js";
import { all, type Fetch, HOST, said, served } from "./helpers.js";

// Pauses between two tries have no length. Records still have versions of their own.
let chance = 0;
beforeEach(() => void vi.spyOn(Math, "random").mockImplementation(() => (chance += 1e-9)));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** Lets the first requests fail in a way, and the others reach the server. */
function failing(times: number, fail: (request: Request, server: Fetch) => Promise<Response>, server: Fetch) {
  let left = times;
  const fetch: Fetch = (request) => {
    left -= 1;
    return left >= 0 ? fail(request, server) : server(request);
  };
  return fetch;
}

const lose = async (request: Request, server: Fetch): Promise<Response> => {
  await server(request);
  throw new TypeError("fetch failed");
};
const answer =
  (status: number, headers: Record<string, string> = {}, body = "<html>") =>
  async () =>
    new Response(body, { status, headers });

describe("a request that fails", () => {
  it.each([
    ["is lost", lose],
    ["has a gateway's 502", answer(502)],
    ["has a gateway's 504", answer(504)],
    ["has 503 of a server that ends", answer(503, { "retry-after": "0" })],
    ["has 429", answer(429, { "retry-after": "0" })],
    [
      "is cut within the body",
      async () =>
        new Response(new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) }), {
          headers: { "content-type": "application/json" },
        }),
    ],
  ])("and %s is sent again, twice at most, if it only reads", async (_, fail) => {
    const { client, clientOf, server, seen } = await served();
    await client.messages.append("trip", said("ferry"));
    expect((await clientOf({}, failing(2, fail, server)).messages.get("trip", "ferry")).id).toBe("ferry");
    expect((await clientOf({}, failing(2, fail, server)).search("ferry")).data.length).toBe(1);
    seen.length = 0;
    await expect(clientOf({}, failing(3, fail, server)).messages.get("trip", "ferry")).rejects.toBeInstanceOf(Error);
    expect(seen.length).toBe(3);
    seen.length = 0;
    await expect(clientOf({ maxRetries: 0 }, failing(1, fail, server)).tree.leaf("trip")).rejects.toBeInstanceOf(Error);
    expect(seen.length).toBe(1);
  });

  it("is sent again with its key if it writes, and is done once though the answer was lost", async () => {
    const { client, clientOf, server, seen, store } = await served();
    const text = { append: "b", maxTokens: 100 };
    const append = (fail: typeof lose, times = 2) =>
      clientOf({}, failing(times, fail, server)).memory.blocks.append("user:ada", "notes", text);
    for (const fail of [lose, answer(502), answer(503, {}, problem("CONNECTION_LOST", 503)), answer(504)]) {
      seen.length = 0;
      await append(fail);
      const keys = seen.map(({ headers }) => headers.get("idempotency-key"));
      expect(keys).toEqual([keys[0], keys[0], keys[0]]);
      expect(keys[0]).toMatch(/^[\d-]{20,}$/);
    }
    await expect(append(lose, 3)).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await client.memory.blocks.append("user:ada", "notes", text, { idempotencyKey: "mine" });
    expect(seen.at(-1)?.headers.get("idempotency-key")).toBe("mine");
    const block = await store
      .forUser("ada")
      .blocks.get({ sessionId: "", scope: "user", kind: "block", label: "notes" });
    expect(block?.content.match(/b/g)?.length).toBe(6);
  });

  it("is lost if its answer was, whatever a server that fails says when it is asked again", async () => {
    const { client, clientOf, server } = await served();
    const body = JSON.stringify({
      type: "urn:stemma:error:STORE_FAILED",
      code: "STORE_FAILED",
      detail: "The disk is full.",
    });
    const broken = answer(500, {}, body);
    const tries = [lose, broken];
    const fetch: Fetch = (request) => (tries.shift() ?? broken)(request, server);
    const append = (own: StemmaClient) => own.messages.append("trip", said("ferry"));
    await expect(append(clientOf({}, fetch))).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      cause: expect.objectContaining({ code: "STORE_FAILED" }),
    });
    // It was stored.
    expect((await client.messages.get("trip", "ferry")).id).toBe("ferry");
    await expect(append(clientOf({}, broken))).rejects.toMatchObject({ code: "STORE_FAILED" });
  });

  it("is not sent again if it is refused, or if the server asks for a long wait", async () => {
    const { clientOf, seen } = await served();
    await expect(clientOf().sessions.get("none")).rejects.toMatchObject({
      name: "StemmaError",
      code: "SESSION_NOT_FOUND",
      details: { sessionId: "none", status: 404, requestId: expect.any(String) },
    });
    const limited = clientOf({}, answer(429, { "retry-after": "3600" }, problem("RATE_LIMITED", 429)));
    await expect(limited.sessions.get("none")).rejects.toMatchObject({
      code: "RATE_LIMITED",
      details: { retryAfter: 3600 },
    });
    expect(seen.length).toBe(2);
  });

  it("is not sent again for the hours until a quota begins anew", async () => {
    vi.useFakeTimers({ now: Date.parse("2026-11-28T12:00:00Z"), toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { keys, clientOf, server, seen } = await served();
    const quota = { requestsPerDay: 100, writesPerDay: 1 };
    const { key: apiKey } = await keys.create({ name: "k", access: "memory", quota });
    const client = clientOf({ apiKey });
    await client.messages.append("trip", said("a"));
    seen.length = 0;
    const details = { quota: "writesPerDay", limit: 1, resetsAt: "2026-11-29T00:00:00.000Z", retryAfter: 43_200 };
    await expect(client.messages.append("trip", said("b"))).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", details });
    expect(seen.length).toBe(1);
    expect((await client.quota()).data).toMatchObject([{ used: 3 }, { used: 1 }]);
    const store = remote({ baseUrl: HOST, apiKey, fetch: server });
    await expect(store.session("trip").append([said("b")])).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", details });
    expect(await store.session("trip").length()).toBe(1);
    for (let left = true; left; )
      left = await client.limits().then(
        () => true,
        () => false,
      );
    await expect(store.session("trip").length()).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  });
});

describe("an answer that is none of the server's", () => {
  it.each([
    ["a page with 200", answer(200, { "content-type": "text/html" })],
    ["JSON that is cut", answer(200, { "content-type": "application/json" }, '{"id":"a')],
    ["JSON of another kind", answer(200, { "content-type": "application/json" }, "[1]")],
    ["a list without items", answer(200, { "content-type": "application/json" }, '{"nextCursor":null}')],
    ["a page that refuses", answer(403)],
    ["a code of another program", answer(400, { "content-type": "application/json" }, '{"code":"SESSION_NOT_FOUND"}')],
    ["a fault", answer(500, {}, problem("INTERNAL", 500))],
    ["a method that is unknown there", answer(405, {}, problem("METHOD_NOT_ALLOWED", 405))],
  ])("is refused: %s", async (_, fetch) => {
    const { clientOf } = await served();
    const client = clientOf({}, fetch);
    await expect(client.sessions.list()).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
    await expect(all(client.sessions.list())).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
  });

  it("is refused where its cursor leads to itself", async () => {
    const { clientOf } = await served();
    const page = answer(200, { "content-type": "application/json" }, '{"data":[1],"nextCursor":"a"}');
    await expect(all(clientOf({}, page).sessions.list())).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
  });

  it("is refused where a line of a stream is no JSON, and lost where the last one is cut", async () => {
    const { clientOf } = await served();
    const lines = (text: string) =>
      clientOf({}, answer(200, { "content-type": "application/x-ndjson" }, text)).messages.stream("s");
    await expect(all(lines('{"id":"a"}\n{"id":"b"}\n'))).resolves.toEqual([{ id: "a" }, { id: "b" }]);
    await expect(all(lines('{"id":"a"}\nno\n'))).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
    await expect(all(lines('{"id":"a"}\n{"id'))).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    const page = clientOf({}, answer(200, { "content-type": "text/html" })).messages.stream("s");
    await expect(all(page)).rejects.toMatchObject({ code: "REQUEST_REFUSED" });
  });
});

describe("a call that takes too long", () => {
  const never: Fetch = () => new Promise(() => {});

  it("ends after its timeout, also where nothing heeds the signal", async () => {
    const { clientOf, seen } = await served();
    const refusal = { code: "CONNECTION_LOST", message: expect.stringContaining("within 20 ms") };
    await expect(clientOf({ timeout: 20 }, never).limits()).rejects.toMatchObject(refusal);
    expect(seen.length).toBe(3);
    await expect(clientOf({}, never).limits({ timeout: 20 })).rejects.toMatchObject(refusal);
    const open = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"id":"a"}\n')),
    });
    const stuck: Fetch = async () => new Response(open, { headers: { "content-type": "application/x-ndjson" } });
    const stream = clientOf({ timeout: 20 }, stuck).messages.stream("s");
    expect(await stream.next()).toEqual({ done: false, value: { id: "a" } });
    await expect(stream.next()).rejects.toMatchObject(refusal);
  });

  it("ends with the reason of its signal: before, during a request, during a pause", async () => {
    const { clientOf, seen } = await served();
    const reason = new Error("enough");
    await expect(clientOf().limits({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    for (const fetch of [never, answer(429, { "retry-after": "30" })]) {
      const leave = new AbortController();
      const left = clientOf({}, fetch).limits({ signal: leave.signal });
      setTimeout(() => leave.abort(reason), 20);
      await expect(left).rejects.toBe(reason);
    }
    expect(seen.length).toBeLessThan(4);
    const leave = new AbortController();
    const changes = clientOf().changes({}, { signal: leave.signal });
    setTimeout(() => leave.abort(reason), 20);
    await expect(changes.next()).rejects.toBe(reason);
  });
});

describe("a token", () => {
  it("is asked for once, and anew when the server no longer takes it", async () => {
    const { clientOf, tokens, seen } = await served();
    const given = ["stm_old", (await tokens.create({ userId: "ada" })).token];
    const token = vi.fn(async () => given.shift() ?? "stm_none");
    const client = clientOf({ token });
    await Promise.all([client.limits(), client.limits(), client.sessions.create({ name: "a", id: "a" })]);
    expect(token).toHaveBeenCalledTimes(2);
    expect(seen.length).toBe(6);
    expect(await all(client.sessions.list())).toMatchObject([{ id: "a", userId: "ada" }]);
  });

  it("that is never taken fails the call with NOT_ALLOWED", async () => {
    const { clientOf } = await served();
    const token = vi.fn(async () => "wrong");
    await expect(clientOf({ token }).limits()).rejects.toMatchObject({ code: "NOT_ALLOWED", details: { status: 401 } });
    expect(token).toHaveBeenCalledTimes(2);
    await expect(clientOf({ token: async () => "a\nb" }).limits()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const failed = new Error("signed out");
    await expect(clientOf({ token: () => Promise.reject(failed) }).limits()).rejects.toBe(failed);
  });
});

describe("options", () => {
  it.each([
    [{ baseUrl: "memory.example.com" }],
    [{ baseUrl: "https://ada:pw@memory.example.com" }],
    [{ baseUrl: "https://memory.example.com?key=1" }],
    [{ apiKey: "a b" }],
    [{ apiKey: "secret\n" }],
    [{ token: "t" }],
    [{ fetch: 1 }],
    [{ timeout: 0 }],
    [{ timeout: 2 ** 31 }],
    [{ maxRetries: -1 }],
    [{ dryrun: true }],
  ])("are refused: %o", (options) => {
    const make = () => new StemmaClient({ baseUrl: HOST, ...options } as never);
    expect(make).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.not.stringContaining("secret") }),
    );
  });

  it("come from the environment, of which nothing empty counts", async () => {
    expect(() => new StemmaClient()).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    const { server, apiKey } = await served();
    vi.stubEnv("STEMMA_BASE_URL", `${HOST}/`);
    vi.stubEnv("STEMMA_API_KEY", apiKey);
    expect(await new StemmaClient({ fetch: server }).limits()).toMatchObject({ defaultLimit: 50 });
    vi.stubEnv("STEMMA_API_KEY", "");
    await expect(new StemmaClient({ fetch: server }).limits()).rejects.toMatchObject({ code: "NOT_ALLOWED" });
  });

  it("of a call are refused, and so are ids that are no texts and what is no JSON", async () => {
    const { client, seen } = await served();
    const refusal = { code: "INVALID_ARGUMENT" };
    await expect(client.limits({ dryrun: true } as never)).rejects.toMatchObject(refusal);
    await expect(client.sessions.delete("a", { ifMatch: 3 } as never)).rejects.toMatchObject(refusal);
    await expect(client.sessions.get(undefined as never)).rejects.toMatchObject(refusal);
    await expect(client.sessions.get("\ud800")).rejects.toMatchObject(refusal);
    await expect(client.sessions.create({ name: "a", metadata: { n: 1n } })).rejects.toMatchObject(refusal);
    expect(seen.length).toBe(0);
  });
});

it.each(["", ".", "..", "~", "~a", "a/b", "a b?c#d%", "ä…", "__proto__"])(
  "the id %o reaches the server as it is",
  async (id) => {
    const { client, store } = await served();
    await store.sessions.create({ id: "first", name: "" });
    await client.messages.append(id, said("m"));
    expect((await client.messages.get(id, "m")).id).toBe("m");
    expect(await store.session(id).leaf()).toMatchObject({ id: "m" });
  },
);

it("changes go on where a stream broke off, and end when the server refuses", async () => {
  const { clientOf, seen } = await served();
  const streams = [
    'retry: 1000\n\nid: 1\ndata: {"session":"a","kind":"changed","change":"x"}\n\nid: 2\ndata: {"sess',
    'retry: 1000\n\nid: 2\ndata: {"session":"b","kind":"changed","change":"y"}\n\nid: 3\n\n',
    'retry: 1000\r\n\r\n: nothing\r\n\r\nid: 4\r\ndata: {"session":"c","kind":"changed","change":"z"}\r\n\r\n',
  ];
  const client = clientOf({}, async () => {
    const text = streams.shift();
    return text === undefined
      ? new Response(problem("FORBIDDEN", 403), { status: 403 })
      : new Response(text, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
  });
  const changes = client.changes();
  expect([await changes.next(), await changes.next(), await changes.next()]).toMatchObject([
    { value: { id: "1", session: "a", kind: "changed", change: "x" } },
    { value: { id: "2", session: "b" } },
    { value: { id: "4", session: "c" } },
  ]);
  await expect(changes.next()).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect(seen.map(({ url }) => new URL(url).searchParams.get("after"))).toEqual([null, "1", "3", "4"]);
});

it("works over a socket, whose connections may be cut", async () => {
  const { server, apiKey } = await served();
  let cut = 0;
  const http = createHttpServer(async (incoming, outgoing) => {
    if (cut-- > 0) return void outgoing.destroy();
    const hasBody = incoming.method !== "GET";
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method ?? "GET",
      headers: incoming.headers as Record<string, string>,
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
    } as RequestInit);
    const response = await server(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const bytes of response.body ?? []) outgoing.write(bytes);
    outgoing.end();
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  try {
    const baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const client = new StemmaClient({ baseUrl, apiKey });
    const many = Array.from({ length: 300 }, (_, n) => said(`m${n}`, "ä".repeat(500)));
    await client.messages.append("trip", many);
    cut = 2;
    expect((await all(client.messages.list("trip"))).length).toBe(300);
    expect(await all(client.messages.stream("trip"))).toEqual(many);
    const file = client.sessions.export("trip");
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await file.next();
        if (done) controller.close();
        else controller.enqueue(new TextEncoder().encode(value));
      },
    });
    expect((await client.sessions.import("copy", stream)).inserted).toBe(300);
    cut = 9;
    await expect(client.limits()).rejects.toMatchObject({ code: "CONNECTION_LOST", cause: expect.any(Error) });
  } finally {
    http.closeAllConnections();
    http.close();
  }
});

function problem(code: string, status: number): string {
  return JSON.stringify({ type: `urn:stemma:error:${code}`, code, status, detail: "No.", details: {}, requestId: "r" });
}
