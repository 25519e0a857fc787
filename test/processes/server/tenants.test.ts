import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ApiKeys, AuditLog } from "../../../packages/server/src/index.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { type Served, startServed } from "../../cli/served.js";
import { Spawned } from "../../cli/spawned.js";

const folder = temporaryFolder();
const CANARY = "canary-of-bravo";
/** A search marks what it found: «canary»-of-bravo. */
const LEAK = "of-bravo";
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

async function keysOf(db: string, tenants: readonly string[]): Promise<Record<string, string>> {
  const store = sqlite(db);
  const keys = new ApiKeys(store);
  const made: Record<string, string> = {};
  for (const tenant of tenants) {
    made[tenant] = (await keys.create({ name: tenant, access: "memory", tenant })).key;
  }
  await store.close();
  return made;
}

const asking =
  ({ url }: Served) =>
  async (key: string | undefined, method: string, path: string, json?: unknown) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const response = await fetch(url + path, { method, headers, ...body });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

const said = (id: string, text: string) => ({ messages: [{ id, role: "user", parts: [{ type: "text", text }] }] });

describe("stemma serve --tenants", () => {
  it("keeps tenants apart in files, by REST, MCP and the studio, and lets nothing end where stores are closed", async () => {
    const db = join(folder, "control.db");
    const names = ["alpha", "bravo", ...Array.from({ length: 10 }, (_, n) => `t${n}`)];
    const keys = await keysOf(db, names);
    const place = join(folder, "tenants", "{tenant}.db");
    const args = ["--db", db, "--tenants", place, "--max-tenants", "3", "--drain-delay", "0"];
    const served = await startServed(program, args);
    const ask = asking(served);
    expect((await ask(keys.bravo, "POST", "/v1/sessions/chat/messages", said("m1", CANARY))).status).toBe(200);
    const initialize = (id: number) => ({
      jsonrpc: "2.0",
      id,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
    });
    const connected = await ask(keys.bravo, "POST", "/mcp", initialize(1));
    const connection = connected.headers.get("mcp-session-id") ?? "";
    expect([connected.status, connection === ""]).toEqual([200, false]);
    const call = {
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "search", arguments: { query: "canary" } },
    };
    const callOf = async (tenant: string) => {
      const response = await fetch(`${served.url}/mcp`, {
        method: "POST",
        body: JSON.stringify(call),
        headers: {
          authorization: `Bearer ${keys[tenant]}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-session-id": connection,
          "mcp-protocol-version": "2025-06-18",
        },
      });
      return { status: response.status, text: await response.text() };
    };
    for (const [method, path, json] of [
      ["GET", "/v1/sessions/chat/messages"],
      ["POST", "/v1/search", { query: "canary" }],
      ["GET", "/studio/api/sessions"],
      ["POST", "/mcp", { ...call, params: { ...call.params } }],
    ] as const) {
      expect((await ask(keys.alpha, method, path, json)).text).not.toContain(LEAK);
    }
    expect((await callOf("alpha")).status).toBe(404);
    // Four times as many as are open, all at once.
    const rounds = Array.from({ length: 60 }, async (_, n) => {
      const tenant = names[n % names.length] as string;
      const wrote = await ask(keys[tenant], "POST", `/v1/sessions/s${n}/messages`, said(`m${n}`, tenant));
      const read = await ask(keys[tenant], "GET", `/v1/sessions/s${n}/messages`);
      return [wrote.status, read.status, read.text.includes(`"${tenant}"`)];
    });
    expect((await Promise.all(rounds)).filter(([a, b, c]) => !(a === 200 && b === 200 && c))).toEqual([]);
    // The connection outlived its store.
    const found = await callOf("bravo");
    expect([found.status, found.text]).toEqual([200, expect.stringContaining(LEAK)]);
    expect((await ask(keys.alpha, "GET", "/metrics")).status).toBe(403);
    served.process.stop("SIGTERM");
    expect(await served.process.ended).toEqual({ code: 0, signal: null });
    expect(served.process.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect(readdirSync(join(folder, "tenants")).sort()).toEqual(names.map((name) => `${name}.db`).sort());

    const single = await startServed(program, ["--db", db, "--drain-delay", "0"]);
    expect((await asking(single)(keys.bravo, "GET", "/v1/sessions")).status).toBe(403);
    single.process.stop("SIGTERM");
    await single.process.ended;
  });

  it("goes on after kill -9 while stores are made", async () => {
    const db = join(folder, "killed.db");
    const names = Array.from({ length: 6 }, (_, n) => `k${n}`);
    const keys = await keysOf(db, names);
    const args = ["--db", db, "--tenants", join(folder, "killed", "{tenant}.db"), "--drain-delay", "0"];
    const acknowledged: string[] = [];
    for (const [round, wait] of [30, 80, 200].entries()) {
      const served = await startServed(program, args);
      const ask = asking(served);
      const work = names.map(async (name) => {
        const id = `r${round}`;
        const { status } = await ask(keys[name], "POST", "/v1/sessions/chat/messages", said(id, name));
        if (status === 200) acknowledged.push(`${name} ${id}`);
      });
      await new Promise((next) => setTimeout(next, wait));
      served.process.stop("SIGKILL");
      await Promise.allSettled(work);
      await served.process.ended;
    }
    const served = await startServed(program, args);
    const ask = asking(served);
    for (const name of names) {
      expect((await ask(keys[name], "POST", "/v1/sessions/chat/messages", said("last", name))).status).toBe(200);
      const { text } = await ask(keys[name], "GET", "/v1/sessions/chat/messages");
      const of = acknowledged.filter((each) => each.startsWith(`${name} `)).map((each) => each.split(" ")[1]);
      expect(of.filter((id) => !text.includes(`"${id}"`))).toEqual([]);
    }
    served.process.stop("SIGTERM");
    expect(await served.process.ended).toEqual({ code: 0, signal: null });
  });

  it("erases a tenant while two servers run, although the process that began it is killed", async () => {
    const db = join(folder, "erased.db");
    const names = ["acme", "globex"];
    const keys = await keysOf(db, names);
    const place = join(folder, "erased", "{tenant}.db");
    const args = ["--db", db, "--tenants", place, "--drain-delay", "0"];
    const servers = await Promise.all([startServed(program, args), startServed(program, args)]);
    const asks = servers.map(asking);
    for (const ask of asks) {
      for (const name of names) {
        await ask(keys[name], "POST", "/v1/sessions/chat/messages", said(`m${asks.indexOf(ask)}`, CANARY));
      }
    }
    const statuses = (name: string) =>
      Promise.all(asks.map(async (ask) => (await ask(keys[name], "GET", "/v1/sessions/chat/messages")).status));
    expect(await statuses("acme")).toEqual([200, 200]);
    const erase = ["--db", db, "tenants", "erase", "acme", "--yes", "--tenants", place];
    const command = new Spawned(program, erase, { ...process.env, NODE_NO_WARNINGS: "1" });
    await expect.poll(() => statuses("acme"), { timeout: 10_000 }).toEqual([410, 410]);
    command.stop("SIGKILL");
    await command.ended;
    expect(existsSync(join(folder, "erased", "acme.db"))).toBe(true);
    // One of the servers takes over.
    const left = () => readdirSync(join(folder, "erased")).filter((name) => name.startsWith("acme"));
    await expect.poll(left, { timeout: 60_000, interval: 500 }).toEqual([]);
    expect(await statuses("globex")).toEqual([200, 200]);
    for (const { process } of servers) {
      process.stop("SIGTERM");
      expect(await process.ended).toEqual({ code: 0, signal: null });
      const requests = process.lines.filter(({ event }) => event === "request");
      expect(new Set(requests.map(({ tenant }) => tenant))).toEqual(new Set(names));
      expect(process.lines.filter(({ level }) => level === "error")).toEqual([]);
    }
    const store = sqlite(db);
    expect((await new ApiKeys(store).list()).map(({ tenant }) => tenant)).toEqual(["globex"]);
    const told: unknown[] = [];
    for await (const { call, tenant } of new AuditLog(store).entries()) {
      if (call === "tenants.erase") told.push(tenant);
    }
    expect(told).toContain("acme");
    await store.close();
  }, 120_000);
});
