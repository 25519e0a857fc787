import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ServedMcp, serveHttp } from "../../../packages/cli/src/mcp/serve-http.js";
import { scopeOf } from "../../../packages/mcp/src/scope.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { patience } from "../../helpers/patience.js";
import { allResults, call } from "../../mcp/connect.js";
import { fillStore, say } from "../../mcp/sample.js";

// The command as a process of its own, and other people's programs that speak to it.
const folder = temporaryFolder();
const db = join(folder, "sample.db");
const run = promisify(execFile);
const open: { close(): Promise<void> }[] = [];
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
  const store = sqlite(db);
  await fillStore(store);
  await store.close();
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const server = (...args: string[]) => ({
  command: process.execPath,
  args: [program, "mcp", "--db", db, ...args],
  // Node 22 calls its own SQLite experimental.
  env: { NODE_NO_WARNINGS: "1", HOME: folder, PATH: process.env.PATH ?? "" },
});

async function connectTo(args: string[], mode: "legacy" | "auto" = "legacy"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport(server(...args)));
  open.push(client);
  return client;
}

/** The port of a proxy for programs that send no token. It leaves everything else to the server. */
async function tokenProxy({ port, token }: ServedMcp): Promise<number> {
  const own = (text = "") => text.replace(/^((?:http:\/\/)?(?:localhost|127\.0\.0\.1)):\d+$/, `$1:${port}`);
  const proxy = createServer((incoming, outgoing) => {
    const { headers, method, url: path } = incoming;
    const origin = headers.origin === undefined ? {} : { origin: own(headers.origin) };
    const sent = { ...headers, ...origin, host: own(headers.host), authorization: `Bearer ${token}` };
    const forwarded = request({ host: "127.0.0.1", port, method, path, headers: sent }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded.on("error", () => outgoing.destroy()));
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  open.push({
    close: async () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  });
  return (proxy.address() as AddressInfo).port;
}

describe("stemma mcp as a process", () => {
  it("serves clients of version 1", async () => {
    const client = new OldClient({ name: "old", version: "1" });
    await client.connect(new OldTransport(server("--user", "ada")) as never);
    open.push(client);
    expect(client.getServerVersion()).toMatchObject({ name: "stemma", title: "Stemma" });
    const { structuredContent } = await client.callTool({ name: "list_sessions", arguments: {} });
    const { sessions } = structuredContent as { sessions: { id: string }[] };
    expect(sessions.map(({ id }) => id).toSorted()).toEqual(["session/a1", "session/a2"]);
    expect((await client.listPrompts()).prompts).toHaveLength(2);
  });

  it.each(["legacy", "auto"] as const)(
    "tells clients of version 2 of what another program writes (%s)",
    async (mode) => {
      const client = await connectTo([], mode);
      const told: string[] = [];
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
      const uri = "stemma://session/b1";
      if (mode === "legacy") await client.subscribeResource({ uri });
      else await client.listen({ resourceSubscriptions: [uri] });
      const store = sqlite(db);
      await store.session("b1").append([say(mode, "user", "Quick!")]);
      await store.close();
      await vi.waitFor(() => expect(told).toContain(uri), { timeout: patience(50_000), interval: 50 });
      const { contents } = await client.readResource({ uri });
      expect(JSON.stringify(contents)).toContain("Quick!");
    },
  );

  it("loses nothing of what eight of them write at once", async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => connectTo(["--project", "rush"])));
    const texts = clients.map((_, writer) =>
      Array.from({ length: 10 }, (_, number) => `quince ${writer} of ${number}`),
    );
    await Promise.all(
      clients.map(async (client, writer) => {
        for (const text of texts[writer] ?? []) {
          await call(client, "remember", { text, title: text });
          await call(client, "remember", { text, title: "shared" });
          await call(client, "search", { query: "quince", limit: 5 });
        }
      }),
    );
    const [first] = clients;
    const found = await allResults(first as Client, { query: "quince", limit: 50 });
    const shown = found.map(({ text }) => text.replace(/[«»]/g, ""));
    for (const text of texts.flat()) expect(shown).toContain(text);
    const store = sqlite(db);
    const scope = { sessionId: "", label: "memory", scope: { key: "project:rush" } };
    expect(await store.entries.count(scope)).toBe(81);
    expect((await store.entries.versions(scope, "shared")).map(({ version }) => version)[0]).toBe(80);
    expect((await store.check?.())?.problems).toEqual([]);
    await store.close();
  });

  it("reads its variables from a file, and none that is set already", async () => {
    const variables = join(folder, "stemma.env");
    writeFileSync(variables, `# The database\nSTEMMA_DB="${db}"\nHOME=/nowhere\n`);
    const { command, env } = server();
    const transport = new StdioClientTransport({ command, env, args: [program, "mcp", "--dotenv", variables] });
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    open.push(client);
    expect(await call(client, "fetch", { id: "session/a1/message/m2" })).toMatchObject({ text: "Green tea, says a1." });
    const args = [program, "mcp", "--dotenv", join(folder, "none.env")];
    const refused = spawnSync(process.execPath, args, { input: "", encoding: "utf8" });
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("--dotenv cannot be read") });
  });

  it("ends with its input, and says on standard error what it cannot do", () => {
    const ended = spawnSync(process.execPath, server().args, { input: "", encoding: "utf8", env: server().env });
    expect(ended).toMatchObject({ status: 0, stdout: "", stderr: "" });
    const none = ["mcp", "--db", join(folder, "none.db")];
    const refused = spawnSync(process.execPath, [program, ...none, "--read-only"], { input: "", encoding: "utf8" });
    expect(refused).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("There is no database") });
    const wrong = spawnSync(process.execPath, [program, "mcp", "--db", program], { input: "", encoding: "utf8" });
    expect(wrong).toMatchObject({ status: 1, stdout: "" });
  });

  it("goes on after lines that are no messages", async () => {
    const { command, args, env } = server();
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });
    const input = ["{", "[]", '"x"', '{"jsonrpc":"2.0"}', "\u0000", ping].map((line) => `${line}\n`).join("");
    const child = execFile(command, args, { env });
    let out = "";
    child.stdout?.on("data", (text: string) => {
      out += text;
    });
    child.stdin?.write(input);
    await vi.waitFor(() => expect(out).toContain('"id":7'), { timeout: patience(50_000), interval: 50 });
    const closed = new Promise((done) => child.once("close", done));
    child.stdin?.end();
    expect(await closed).toBe(0);
  });
});

/** Those that want no tools of their own. */
const SCENARIOS = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "prompts-list",
  "dns-rebinding-protection",
];

describe("other people's clients", () => {
  it("the Inspector's command line lists and calls the tools", async () => {
    const inspect = async (...args: string[]) => {
      const inspector = "compat/node_modules/@modelcontextprotocol/inspector/cli/build/cli.js";
      const { command, args: start } = server("--user", "ben");
      const { stdout } = await run(process.execPath, [inspector, "--cli", command, ...start, ...args]);
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    const { tools } = (await inspect("--method", "tools/list")) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain("list_sessions");
    const called = await inspect("--method", "tools/call", "--tool-name", "list_sessions");
    expect(called.structuredContent).toMatchObject({ sessions: [{ id: "session/b1" }] });
  }, 240_000);

  it("the conformance suite's generic scenarios pass", async () => {
    const store = memory();
    await fillStore(store);
    const served = await serveHttp(scopeOf(store, {}), { port: 0, readOnly: false });
    const front = await tokenProxy(served);
    const conformance = resolve("compat/node_modules/@modelcontextprotocol/conformance/dist/index.js");
    const passed = SCENARIOS.map(async (scenario) => {
      const args = [conformance, "server", "--url", `http://localhost:${front}/mcp`, "--scenario", scenario];
      const { stdout } = await run(process.execPath, args, { cwd: folder });
      expect(stdout).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
    });
    await Promise.all(passed);
    await served.close();
    await store.close();
  }, 240_000);
});
