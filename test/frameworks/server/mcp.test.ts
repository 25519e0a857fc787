import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { memory } from "stemma/memory";
import { ApiKeys } from "stemma/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Io } from "../../../packages/cli/src/io.js";
import { ServerLog } from "../../../packages/cli/src/serve/log.js";
import { type ServedStore, serve } from "../../../packages/cli/src/serve/serve.js";
import { readSettings } from "../../../packages/cli/src/serve/settings.js";

// MCP of `stemma serve`, by the official client.
const store = memory();
const keys = new ApiKeys(store);
let served: ServedStore;
let log = "";
const io = {
  write: async (text: string) => {
    log += text;
  },
  writeError: (text: string) => {
    log += text;
  },
} as unknown as Io;

/** Whoever gives tokens, of a client's credentials: the client is the user. `audience` is what the tokens are for, null for what was asked. */
async function authorizationServer() {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] };
  const state = { audience: null as string | null, asked: [] as (string | null)[] };
  const server = createServer(async (request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const json = (value: unknown) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (request.url === "/jwks") return json(jwks);
    if (request.url?.startsWith("/.well-known/")) {
      return json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        grant_types_supported: ["client_credentials"],
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      });
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    const resource = new URLSearchParams(body).get("resource");
    state.asked.push(resource);
    const [user = ""] = Buffer.from(request.headers.authorization?.slice(6) ?? "", "base64")
      .toString()
      .split(":");
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer(origin)
      .setAudience(state.audience ?? resource ?? "")
      .setSubject(user)
      .setExpirationTime("5m")
      .sign(privateKey);
    json({ access_token: token, token_type: "Bearer", expires_in: 300 });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { issuer, state, close: () => server.close() };
}

let authorization: Awaited<ReturnType<typeof authorizationServer>>;

beforeAll(async () => {
  authorization = await authorizationServer();
  const { issuer } = authorization;
  const settings = readSettings(
    { port: 0, jwtIssuer: issuer, jwtJwks: `${issuer}/jwks`, drainDelay: 0 },
    {},
    undefined,
  );
  await store.sessions.create({ id: "a", name: "Ada's garden", userId: "ada" });
  await store.sessions.create({ id: "b", name: "Bob's boat", userId: "bob" });
  served = await serve(store, settings, {}, new ServerLog(io, true));
});
afterAll(async () => {
  await served.drain();
  authorization.close();
  await store.close();
});

async function connect(options: ConstructorParameters<typeof StreamableHTTPClientTransport>[1]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), options));
  return client;
}

const byKey = (key: string) => connect({ requestInit: { headers: { authorization: `Bearer ${key}` } } });
const byLogin = (clientId: string) =>
  connect({
    authProvider: new ClientCredentialsProvider({
      clientId,
      clientSecret: "secret",
      expectedIssuer: authorization.issuer,
    }),
  });

async function sessions(client: Client): Promise<string> {
  return JSON.stringify(await client.callTool({ name: "list_sessions", arguments: {} }));
}

describe("MCP behind keys", () => {
  it("shows each user the user's own, and refuses who has no key", async () => {
    const { key: ada } = await keys.create({ name: "ada", access: "memory", userId: "ada" });
    const { key: all } = await keys.create({ name: "all", access: "memory", readOnly: true });
    const [mine, everything] = [await byKey(ada), await byKey(all)];
    expect(await sessions(mine)).toContain("Ada's garden");
    expect(await sessions(mine)).not.toContain("Bob");
    expect(await sessions(everything)).toContain("Bob's boat");
    const tools = (await everything.listTools()).tools.map(({ name }) => name);
    expect(tools).not.toContain("remember");
    await expect(connect({})).rejects.toThrow();
    await Promise.all([mine.close(), everything.close()]);
  });

  it("refuses the connection of another principal", async () => {
    const bearerOf = async (name: string) =>
      `Bearer ${(await keys.create({ name, access: "memory", userId: name })).key}`;
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      authorization: await bearerOf("ada"),
    };
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    const opened = await fetch(`${served.url}/mcp`, { method: "POST", headers, body });
    await opened.text();
    const id = opened.headers.get("mcp-session-id") ?? "";
    const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const ask = async (authorization: string) => {
      const response = await fetch(`${served.url}/mcp`, {
        method: "POST",
        headers: { ...headers, authorization, "mcp-session-id": id },
        body: list,
      });
      await response.text();
      return response.status;
    };
    expect(await ask(headers.authorization)).toBe(200);
    expect(await ask(await bearerOf("bob"))).toBe(404);
  });

  it("sends an OAuth client to who gives tokens for this server, and lets it in with one", async () => {
    const client = await byLogin("ada");
    expect(authorization.state.asked.at(-1)).toBe(`${served.url}/mcp`);
    expect(await sessions(client)).toContain("Ada's garden");
    expect(await sessions(client)).not.toContain("Bob");
    await client.close();
  });

  it("refuses a token for another server", async () => {
    authorization.state.audience = "https://other.example.com/mcp";
    await expect(byLogin("ada")).rejects.toThrow();
    authorization.state.audience = null;
  });

  it("logs no name and no id of what it served", () => {
    expect(log).toContain('"route":"/mcp/*"');
    expect(log).not.toMatch(/garden|boat/);
  });
});
