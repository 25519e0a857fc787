import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ServedMcp, serveHttp } from "../../../packages/cli/src/mcp/serve-http.js";
import { scopeOf } from "../../../packages/mcp/src/scope.js";
import { memory } from "../../../packages/store/src/memory.js";
import { patience } from "../../helpers/patience.js";
import { call } from "../../mcp/connect.js";
import { fillStore, say } from "../../mcp/sample.js";

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

async function legacyClient(): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url), bearer()));
  return client;
}

/** Opens a connection without a stream, and gives what sends a request on it: the status of the answer. */
async function initialize({ url, token }: ServedMcp): Promise<() => Promise<number>> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const opened = await fetch(url, { method: "POST", headers, body });
  await opened.text();
  const id = opened.headers.get("mcp-session-id") ?? "";
  return async () => {
    const answer = await fetch(url, { method: "POST", headers: { ...headers, "mcp-session-id": id }, body: LIST });
    await answer.text();
    return answer.status;
  };
}

/** Subscribes to two sessions and takes one back: the client is told of the other one. */
async function expectTold(
  told: readonly string[],
  { subscribe, unsubscribe }: Record<"subscribe" | "unsubscribe", (uri: string) => Promise<unknown>>,
): Promise<void> {
  const [a1, a2] = ["stemma://session/a1", "stemma://session/a2"];
  await subscribe(a1 as string);
  await subscribe(a2 as string);
  await unsubscribe(a2 as string);
  const id = crypto.randomUUID();
  await store.session("a1").append([say(id, "user", "More.")]);
  await store.session("a2").append([say(id, "user", "More.")]);
  await vi.waitFor(() => expect(told).toEqual([a1]), { timeout: patience(30_000), interval: 50 });
}

const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

/** `fetch` sets some of these headers itself. */
function statusOf(
  headers: Record<string, string | string[]>,
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
    expect((await client.listTools()).tools).toHaveLength(7);
    const answer = await client.callTool({ name: "search", arguments: { query: "green" } });
    expect(answer.structuredContent).toMatchObject({ nextCursor: null });
    await client.close();
  });

  it("tells clients of version 1 of what they subscribed to", async () => {
    const client = new OldClient({ name: "old", version: "1" });
    await client.connect(new OldTransport(new URL(served.url), bearer()) as never);
    expect(client.getServerCapabilities()?.resources).toEqual({ subscribe: true, listChanged: false });
    const told: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void told.push(params.uri));
    await expectTold(told, {
      subscribe: (uri) => client.subscribeResource({ uri }),
      unsubscribe: (uri) => client.unsubscribeResource({ uri }),
    });
    await client.close();
  });

  it("tells clients of version 2 that speak a revision of 2025 of what they subscribed to", async () => {
    const client = await legacyClient();
    const told: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    await expectTold(told, {
      subscribe: (uri) => client.subscribeResource({ uri }),
      unsubscribe: (uri) => client.unsubscribeResource({ uri }),
    });
    await client.close();
  });

  it("keeps connections apart, and knows one no longer that was ended", async () => {
    const [one, other] = [await legacyClient(), await legacyClient()];
    const told: string[] = [];
    for (const client of [one, other]) {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    }
    await one.subscribeResource({ uri: "stemma://session/b1" });
    await store.session("b1").append([say("apart", "user", "More.")]);
    await vi.waitFor(() => expect(told).toEqual(["stemma://session/b1"]), { timeout: patience(30_000), interval: 50 });
    const transport = other.transport as StreamableHTTPClientTransport;
    const id = transport.sessionId ?? "";
    expect(await statusOf({ "mcp-session-id": id })).toBe(200);
    await transport.terminateSession();
    expect(await statusOf({ "mcp-session-id": id })).toBe(404);
    expect(await statusOf({ "mcp-session-id": "unknown" })).toBe(404);
    expect((await one.listTools()).tools).toHaveLength(7);
    for (const client of [one, other]) await client.close();
    expect(told).toEqual(["stemma://session/b1"]);
  });

  it("closes the connection that was used longest ago where there are too many, and those that rest", async () => {
    const options = { port: 0, readOnly: true, limits: { most: 2, idle: 300 } };
    const small = await serveHttp(scopeOf(store, {}), options);
    const open = async () => {
      const client = new Client({ name: "test", version: "1" });
      const requestInit = { headers: { authorization: `Bearer ${small.token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(small.url), { requestInit }));
      return client;
    };
    const [first, second] = [await open(), await open()];
    const third = await open();
    await expect(first.listTools()).rejects.toThrow("was closed");
    await second.close();
    const resting = await initialize(small);
    expect(await resting()).toBe(200);
    // An open stream keeps the other one.
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(await resting()).toBe(404);
    expect((await third.listTools()).tools).not.toEqual([]);
    for (const client of [first, third]) await client.close();
    await small.close();
  });

  it("serves clients of version 2, in both revisions of the protocol", async () => {
    const legacy = await legacyClient();
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
    await vi.waitFor(() => expect(told).toEqual(["stemma://session/a1"]), { timeout: patience(30_000), interval: 50 });
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
    for (const junk of [" junk", ", Bearer x", ` ${served.token}`]) {
      expect(await statusOf({ authorization: `Bearer ${served.token}${junk}` })).toBe(401);
    }
    expect(await statusOf({ authorization: [`Bearer ${served.token}`, "Bearer x"] })).toBe(401);
    expect(await statusOf({ authorization: `bearer ${served.token}` })).toBe(200);
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
