import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { ApiKeys, authenticator, createServer, RateLimits, type RequestRecord, UserTokens } from "../../src/index.js";

const HOST = "https://memory.example.com";

async function serve(options: Partial<Parameters<typeof createServer>[1]> = {}) {
  const store = memory();
  const keys = new ApiKeys(store);
  const tokens = new UserTokens(store, { audience: HOST });
  const requests: RequestRecord[] = [];
  const errors: unknown[] = [];
  const server = createServer(store, {
    authenticate: authenticator({ keys, tokens }),
    tokens,
    onRequest: (record) => requests.push(record),
    onError: (error) => errors.push(error),
    handlers: { "/mine": async (_request, { sessions }) => Response.json(await sessions.list()) },
    ...options,
  });
  const send = (path: string, init: RequestInit & { key?: string } = {}, Sent = Request) => {
    const { key, ...rest } = init;
    const headers = new Headers(rest.headers);
    if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
    if (path.startsWith("/v1/")) headers.set("content-type", "application/json");
    return server(new Sent(HOST + path, { ...rest, headers }));
  };
  return { store, keys, send, requests, errors };
}

describe("createServer", () => {
  it("tells that it is there, and nothing else, to whoever has no key", async () => {
    const { send } = await serve();
    expect(await (await send("/healthz")).text()).toBe("ok");
    expect((await send("/readyz")).status).toBe(200);
    for (const path of ["/mine", "/v1/sessions", "/nowhere", "/studio", "/metrics"]) {
      const refused = await send(path);
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
      expect(refused.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
      expect(await refused.json()).toMatchObject({ code: "NOT_ALLOWED", status: 401, retryable: false });
    }
  });

  it("gives a handler the store behind a guard, and notes the request without its ids", async () => {
    const { store, keys, send, requests } = await serve();
    await store.sessions.create({ id: "a", name: "Ada", userId: "ada" });
    await store.sessions.create({ id: "b", name: "Bob", userId: "bob" });
    const { key, info } = await keys.create({ name: "ada", access: "memory", userId: "ada" });
    const listed = await send("/mine", { key, headers: { "x-request-id": "r-1" } });
    expect(await listed.json()).toMatchObject([{ id: "a" }]);
    expect(listed.headers.get("x-request-id")).toBe("r-1");
    expect(requests).toEqual([
      {
        id: "r-1",
        method: "GET",
        route: "/mine/*",
        status: 200,
        ms: expect.any(Number),
        principal: info.id,
        tenant: null,
        code: null,
      },
    ]);
  });

  it("makes tokens for users for a key that may, and for no other", async () => {
    const { keys, send } = await serve();
    const { key: mint } = await keys.create({ name: "site", access: "mint" });
    const { key: memoryKey } = await keys.create({ name: "backend", access: "memory" });
    const body = JSON.stringify({ userId: "ada", ttl: 60 });
    const made = await send("/v1/tokens", { method: "POST", key: mint, body });
    expect(made.status).toBe(201);
    const { token } = (await made.json()) as { token: string };
    expect((await send("/mine", { key: token })).status).toBe(200);
    expect((await send("/v1/tokens", { method: "POST", key: memoryKey, body })).status).toBe(403);
    expect((await send("/v1/tokens", { method: "POST", key: token, body })).status).toBe(403);
    expect((await send("/mine", { key: mint })).status).toBe(403);
  });

  it("refuses a token that asks for more than a user's memory, and a body that is none", async () => {
    const { keys, send } = await serve();
    const { key } = await keys.create({ name: "site", access: "mint" });
    for (const body of [
      "",
      "[]",
      "{}",
      '{"userId":"ada","access":"admin"}',
      '{"userId":"ada","ttl":"60"}',
      '{"userId":""}',
    ]) {
      const refused = await send("/v1/tokens", { method: "POST", key, body });
      expect([body, refused.status]).toEqual([body, 400]);
    }
  });

  it("says when to come again where there were too many requests", async () => {
    const { keys, send } = await serve({ limits: new RateLimits({ perMinute: 1 }) });
    const { key } = await keys.create({ name: "backend", access: "memory" });
    expect((await send("/mine", { key })).status).toBe(200);
    const refused = await send("/mine", { key });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await refused.json()).toMatchObject({ code: "RATE_LIMITED", retryable: true });
  });

  it("tells nothing of a fault but the request's id", async () => {
    const { keys, send, errors, requests } = await serve({
      handlers: { "/mine": () => Promise.reject(new Error("secret of the database")) },
    });
    const { key } = await keys.create({ name: "backend", access: "memory" });
    const failed = await send("/mine", { key });
    const text = await failed.text();
    expect([failed.status, text.includes("secret")]).toEqual([500, false]);
    expect(JSON.parse(text)).toMatchObject({ code: "INTERNAL", requestId: requests[0]?.id });
    expect(errors).toEqual([new Error("secret of the database")]);
  });

  it("is not ready while it ends, and refuses hosts that are not its own", async () => {
    const { send } = await serve({ isReady: () => false, hosts: ["localhost:1"] });
    expect((await send("/readyz")).status).toBe(503);
    expect(await (await send("/mine")).json()).toMatchObject({ code: "FOREIGN_HOST" });
  });

  it("tells an OAuth client of the MCP server who gives tokens for it", async () => {
    const resource = `${HOST}/mcp`;
    const { send } = await serve({ oauth: { resource, authorizationServers: ["https://login.example.com"] } });
    const metadata = `${HOST}/.well-known/oauth-protected-resource/mcp`;
    expect((await send("/mcp")).headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}"`);
    expect(await (await send("/.well-known/oauth-protected-resource/mcp")).json()).toMatchObject({ resource });
  });

  it("answers pages of the origins that are named, and of no other", async () => {
    const { send } = await serve({ origins: ["https://app.example.com"] });
    const ask = (origin: string) =>
      send("/mine", { method: "OPTIONS", headers: { origin, "access-control-request-method": "GET" } });
    expect((await ask("https://app.example.com")).headers.get("access-control-allow-origin")).toBe(
      "https://app.example.com",
    );
    expect((await ask("https://evil.example.com")).headers.get("access-control-allow-origin")).toBeNull();
  });

  it("serves the studio to who signs in with a key, and of a user what is the user's", async () => {
    const { store, keys, send } = await serve({ studio: true });
    await store.sessions.create({ id: "a", name: "Ada", userId: "ada" });
    await store.sessions.create({ id: "b", name: "Bob", userId: "bob" });
    const { key } = await keys.create({ name: "ada", access: "memory", userId: "ada" });
    const headers = { accept: "text/html" };
    expect((await send("/studio", { headers })).headers.get("location")).toBe("/studio/sign-in");
    expect(await (await send("/studio/sign-in")).text()).toContain("<form");
    const signIn = (given: string, more: Record<string, string> = {}) =>
      send("/studio/sign-in", {
        method: "POST",
        body: `key=${given}`,
        headers: {
          "content-length": String(given.length + 4),
          "content-type": "application/x-www-form-urlencoded",
          ...more,
        },
      });
    expect((await signIn("stm_wrong")).status).toBe(401);
    expect((await signIn(key, { origin: "https://evil.example.com" })).status).toBe(403);
    const cookie = (await signIn(key)).headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
    const page = await send("/studio", { headers: { ...headers, cookie } });
    expect(await page.text()).toContain("Stemma Studio");
    const listed = await send("/studio/api/sessions", { headers: { cookie } });
    expect(await listed.text()).not.toContain("Bob");
    // The cookie opens nothing but the studio.
    expect((await send("/mine", { headers: { cookie } })).status).toBe(401);
  });

  it("lets nobody guess keys as fast as they can", async () => {
    const { send } = await serve({ studio: true });
    const headers = { "content-length": "9", "content-type": "application/x-www-form-urlencoded" };
    const guess = () => send("/studio/sign-in", { method: "POST", body: "key=wrong", headers });
    const answers = await Promise.all(Array.from({ length: 70 }, guess));
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(61);
    const last = answers.at(-1);
    expect([last?.status, last?.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await last?.json()).toMatchObject({ code: "RATE_LIMITED", status: 429 });
  });

  it("asks for no stream of a body that says how long it is: a listener of Node would make one", async () => {
    class Whole extends Request {
      override get body(): never {
        throw new Error("The body was asked for as a stream.");
      }
    }
    const { keys, send } = await serve();
    const { key } = await keys.create({ name: "whole", access: "memory" });
    const post = (path: string, json: object) => {
      const body = JSON.stringify(json);
      const headers = { "content-type": "application/json", "content-length": String(body.length) };
      return send(path, { method: "POST", key, body, headers }, Whole);
    };
    const message = { id: "m", role: "user", parts: [{ type: "text", text: "Hello." }] };
    expect((await post("/v1/sessions/s/messages", { messages: [message] })).status).toBe(200);
    const append = { n: 1, call: "session.append", session: "s", values: [[{ ...message, id: "n" }]] };
    expect((await post("/v1/rpc", { client: "c", calls: [append] })).status).toBe(200);
  });
});
