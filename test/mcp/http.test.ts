import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ServedMcp, serveHttp } from "../../src/cli/mcp/serve-http.js";
import { scopeOf } from "../../src/mcp/scope.js";
import { memory } from "../../src/memory.js";
import { call } from "./connect.js";
import { fillStore, say } from "./sample.js";

const store = memory();
const errors: unknown[] = [];
let served: ServedMcp;

beforeAll(async () => {
  await fillStore(store);
  served = await serveHttp(scopeOf(store, { onError: (error) => errors.push(error) }), { port: 0, readOnly: false });
});
afterAll(async () => {
  await served.close();
  await store.close();
  expect(errors).toEqual([]);
});

const bearer = () => ({ requestInit: { headers: { authorization: `Bearer ${served.token}` } } });

async function modernClient(): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url), bearer()));
  return client;
}

const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

/** `fetch` sets some of these headers itself. */
function statusOf(
  headers: Record<string, string>,
  { path = "/mcp", body = LIST, method = "POST" } = {},
): Promise<number> {
  const all = {
    authorization: `Bearer ${served.token}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port: served.port, path, method, headers: all }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject).end(method === "POST" ? body : undefined);
  });
}

describe("the MCP server over HTTP", () => {
  it("serves clients of version 1", async () => {
    const client = new OldClient({ name: "old", version: "1" });
    await client.connect(new OldTransport(new URL(served.url), bearer()) as never);
    expect((await client.listTools()).tools).toHaveLength(6);
    const answer = await client.callTool({ name: "search", arguments: { query: "green" } });
    expect(answer.structuredContent).toMatchObject({ nextCursor: null });
    expect(client.getServerCapabilities()?.resources).toEqual({ subscribe: false, listChanged: false });
    await client.close();
  });

  it("serves clients of version 2, in both revisions of the protocol", async () => {
    const legacy = new Client({ name: "test", version: "1" });
    await legacy.connect(new StreamableHTTPClientTransport(new URL(served.url), bearer()));
    const modern = await modernClient();
    for (const client of [legacy, modern]) {
      expect(await call(client, "fetch", { id: "session/a1/message/m2" })).toMatchObject({
        text: "Green tea, says a1.",
      });
      await client.close();
    }
  });

  it("tells a client that listens of changes, until it goes", async () => {
    const client = await modernClient();
    const told: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const listening = await client.listen({ resourceSubscriptions: ["stemma://session/a1", "stemma://nonsense"] });
    await store.session("a1").append([say("new", "user", "More.")]);
    await store.session("a2").append([say("new", "user", "More.")]);
    await vi.waitFor(() => expect(told).toEqual(["stemma://session/a1"]), { timeout: 30_000, interval: 50 });
    await listening.close();
    await client.close();
  });

  it("answers its own token, host and origin only", async () => {
    const host = `127.0.0.1:${served.port}`;
    expect(await statusOf({})).toBe(200);
    expect(await statusOf({ host: `localhost:${served.port}`, origin: `http://localhost:${served.port}` })).toBe(200);
    for (const authorization of ["", "Bearer", "Bearer x", `Basic ${served.token}`, `Bearer ${served.token}x`]) {
      expect(await statusOf({ authorization })).toBe(401);
    }
    expect(await statusOf({ host: `evil.test:${served.port}` })).toBe(403);
    expect(await statusOf({ host: "127.0.0.1" })).toBe(403);
    expect(await statusOf({ host, origin: "http://evil.test" })).toBe(403);
    expect(await statusOf({ host, origin: "null" })).toBe(403);
    expect(await statusOf({ host, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusOf({}, { path: "/" })).toBe(404);
    expect(await statusOf({}, { method: "GET" })).toBe(405);
  });

  it("refuses bodies that are none, and goes on", async () => {
    expect(await statusOf({}, { body: "{" })).toBe(400);
    expect(await statusOf({ "content-type": "text/plain" })).toBe(415);
    expect(await statusOf({}, { body: `"${"x".repeat(5_000_000)}"` })).toBe(413);
    expect(await statusOf({ "mcp-method": "subscriptions/listen" }, { body: "[".repeat(10_000) })).toBe(400);
    expect(await statusOf({})).toBe(200);
    errors.length = 0;
  });

  it("takes no token that can be guessed", async () => {
    const starting = serveHttp(scopeOf(store, {}), { port: 0, readOnly: true, token: "short" });
    await expect(starting).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
