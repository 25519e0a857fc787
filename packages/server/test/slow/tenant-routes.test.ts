// A server whose tenants have stores: every route, with ids of another tenant, and every way in which a request could choose one.
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { type Access, ApiKeys, AuditLog, authenticator, createServer, Tenants, UserTokens } from "../../src/index.js";
import { HOST, said } from "../quick/rest-helpers.js";

const CANARY = "canary-of-bravo";
/** A search marks what it found: «canary»-of-bravo. */
const LEAK = "of-bravo";

type Sent = { readonly key?: string; readonly json?: unknown; readonly headers?: Record<string, string> };

/** Two tenants whose sessions, users and labels have the same names. */
async function world(options: Partial<Parameters<typeof createServer>[1]> = {}, max = 2) {
  const control = memory();
  const stores = new Map<string, Store>();
  const told: string[] = [];
  const tenants = new Tenants(
    (tenant) => {
      const store = stores.get(tenant) ?? memory();
      stores.set(tenant, store);
      told.push(`open ${tenant}`);
      return { ...store, close: async () => void told.push(`close ${tenant}`) };
    },
    { max },
  );
  const keys = new ApiKeys(control);
  const tokens = new UserTokens(control, { audience: HOST });
  const audit = new AuditLog(control);
  const errors: unknown[] = [];
  const server = createServer(control, {
    authenticate: authenticator({ keys, tokens }),
    tenants,
    keys,
    tokens,
    audit,
    studio: true,
    sessions: (sessions) => sessions.withContext("memory").withCachedPrompt(),
    onError: (error) => errors.push(error),
    handlers: { "/mine": async (_request, { sessions }) => Response.json(await sessions.list()) },
    ...options,
  });
  const keyOf = async (access: Partial<Access>) =>
    (await keys.create({ name: "test", access: "memory", ...access })).key;
  const send = (method: string, path: string, { key, json, headers = {} }: Sent = {}) => {
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const all = new Headers({ "content-type": "application/json", ...headers });
    if (key !== undefined) all.set("authorization", `Bearer ${key}`);
    return server(new Request(HOST + path, { method, headers: all, ...body }));
  };
  const ask = async (method: string, path: string, sent: Sent = {}) => {
    const response = await send(method, path, sent);
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: whatever the answer holds.
    let body: any = text;
    try {
      body = JSON.parse(text);
    } catch {
      // It is a page, or a stream.
    }
    return { status: response.status, text, body };
  };
  return { control, stores, tenants, told, keys, tokens, audit, errors, keyOf, send, ask };
}

async function withBravo(server: Awaited<ReturnType<typeof world>>) {
  const { ask, keyOf } = server;
  const key = await keyOf({ tenant: "bravo" });
  const wrote = [
    await ask("POST", "/v1/sessions", { key, json: { id: "chat", name: CANARY, userId: "ada" } }),
    await ask("POST", "/v1/sessions/chat/messages", {
      key,
      json: { messages: [said("m1", CANARY), said("m2", CANARY, "assistant")] },
    }),
    await ask("PUT", "/v1/memory/key%3Ateam/blocks/notes", { key, json: { content: CANARY } }),
    await ask("PUT", "/v1/memory/user%3Aada/entries/notes/e1", { key, json: { content: CANARY } }),
  ];
  expect(wrote.filter(({ status }) => status >= 300)).toEqual([]);
  return key;
}

describe("a server with tenants", () => {
  it("shows and changes nothing of another tenant, by any route of its document", async () => {
    const server = await world({}, 10);
    const { ask, keyOf, errors, stores } = server;
    const bravo = await withBravo(server);
    const state = async () =>
      Promise.all(
        ["sessions/chat", "sessions/chat/tree", "memory/key%3Ateam/blocks", "memory/user%3Aada/entries/notes"].map(
          async (path) => (await ask("GET", `/v1/${path}`, { key: bravo })).text,
        ),
      );
    const before = await state();
    expect((await ask("POST", "/v1/search", { key: bravo, json: { query: "canary" } })).text).toContain(LEAK);
    const principals = [
      await keyOf({ tenant: "alpha" }),
      await keyOf({ tenant: "alpha", access: "admin" }),
      await keyOf({ tenant: "alpha", userId: "ada" }),
      await keyOf({ tenant: "alpha", project: "p", readOnly: true }),
    ];
    const document = (await ask("GET", "/openapi.json", { key: bravo })).body;
    const ids: Record<string, string> = {
      session: "chat",
      message: "m1",
      owner: "key%3Ateam",
      label: "notes",
      key: "e1",
      user: "ada",
      tool: "set_context",
      compaction: "c1",
      apiKey: bravo.slice(4, 12),
    };
    const json = {
      name: "x",
      query: CANARY.slice(0, 6),
      content: "x",
      messages: [said("x")],
      message: said("x"),
      ids: ["m1"],
    };
    let routes = 0;
    for (const [path, methods] of Object.entries<object>(document.paths)) {
      for (const [method, operation] of Object.entries<{ requestBody?: unknown }>(methods as never)) {
        const address = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
        const changes = address.endsWith("/changes") ? "?wait=1" : "";
        for (const key of principals) {
          const body = operation.requestBody === undefined ? {} : { json: bodyFor(operation, json) };
          const { text, status } = await ask(method.toUpperCase(), address + changes, { key, ...body });
          const where = `${method} ${address} ${status}`;
          expect([where, text.includes(LEAK)]).toEqual([where, false]);
          expect([where, status < 500]).toEqual([where, true]);
        }
        routes += 1;
      }
    }
    expect(routes).toBeGreaterThan(50);
    for (const path of ["/mine", "/studio/api/sessions", "/studio/api/sessions/chat"]) {
      for (const key of principals) expect((await ask("GET", path, { key })).text).not.toContain(LEAK);
    }
    const call = (name: string, values: unknown[], session?: string) => ({
      client: "c",
      calls: [{ n: 0, call: name, values, ...(session !== undefined && { session }) }],
    });
    for (const key of principals) {
      for (const asked of [
        call("sessions.list", [{}]),
        call("session.path", [], "chat"),
        call("session.stream", [], "chat"),
        call("store.search", ["canary", { limit: 9 }]),
        call("blocks.get", [{ sessionId: "", scope: { key: "team" }, kind: "block", label: "notes" }]),
        call("records.list", [{ sessionId: "", label: "stemma:keys" }]),
      ]) {
        expect((await ask("POST", "/v1/rpc", { key, json: asked })).text).not.toContain(LEAK);
      }
    }
    expect(await state()).toEqual(before);
    expect([...stores.keys()].sort()).toEqual(["alpha", "bravo"]);
    expect(errors).toEqual([]);
  });

  it("lets no header, query, body, cookie or path choose a tenant", async () => {
    const server = await world();
    const { ask, keyOf } = server;
    await withBravo(server);
    const key = await keyOf({ tenant: "alpha" });
    const headers = {
      "x-tenant": "bravo",
      "x-tenant-id": "bravo",
      tenant: "bravo",
      "stemma-tenant": "bravo",
      "stemma-principal": encodeURIComponent(JSON.stringify({ id: "x", access: "admin", tenant: "bravo" })),
      cookie: "tenant=bravo; stemma-key=bravo",
      "x-forwarded-host": "bravo.example.com",
    };
    expect((await ask("GET", "/v1/sessions", { key, headers })).body.data).toEqual([]);
    for (const path of ["/v1/sessions?tenant=bravo", "/bravo/v1/sessions", "/v1/tenants/bravo/sessions"]) {
      expect((await ask("GET", path, { key })).status).toBeGreaterThanOrEqual(400);
    }
    const body = { id: "chat", name: "x", tenant: "bravo" };
    expect((await ask("POST", "/v1/sessions", { key, json: body })).status).toBe(400);
    expect((await ask("GET", "/v1/sessions/chat", { key })).status).toBe(404);
  });

  it("lets a principal of no tenant make keys and tokens, and reach no store", async () => {
    const server = await world();
    const { ask, keyOf, control, stores } = server;
    const admin = await keyOf({ access: "admin" });
    const backend = await keyOf({});
    for (const key of [admin, backend]) {
      for (const [method, path, json] of [
        ["GET", "/v1/sessions"],
        ["POST", "/v1/sessions", { id: "x", name: "x" }],
        ["GET", "/v1/sessions/chat/messages"],
        ["POST", "/v1/search", { query: "canary" }],
        ["GET", "/v1/changes?wait=1"],
        ["DELETE", "/v1/users/ada"],
        ["GET", "/mine"],
        ["GET", "/studio/api/sessions"],
      ] as const) {
        const { status, body } = await ask(method, path, { key, json });
        expect([method, path, status, body.code ?? body.error?.code]).toEqual([method, path, 403, "FORBIDDEN"]);
      }
      const again = { key, json: { id: "x", name: "x" }, headers: { "idempotency-key": "k" } };
      expect((await ask("POST", "/v1/sessions", again)).body.code).toBe("FORBIDDEN");
      const rpc = await ask("POST", "/v1/rpc", {
        key,
        json: { client: "c", calls: [{ n: 0, call: "sessions.count", values: [{}] }] },
      });
      expect(rpc.body.error.code).toBe("FORBIDDEN");
    }
    expect(await control.sessions.count()).toBe(0);
    expect((await ask("GET", "/readyz")).status).toBe(200);
    expect([...stores.keys()]).toEqual([]);
    const made = await ask("POST", "/v1/keys", {
      key: admin,
      json: { name: "theirs", tenant: "acme", access: "admin" },
    });
    expect(made.body).toMatchObject({ tenant: "acme", access: "admin" });
    expect((await ask("GET", "/v1/sessions", { key: made.body.key })).status).toBe(200);
    expect([...stores.keys()]).toEqual(["acme"]);
  });

  it("lets a tenant's administrator see, make and revoke keys of the tenant alone", async () => {
    const { ask, keyOf, keys, audit } = await world();
    const root = await keyOf({ access: "admin" });
    const key = await keyOf({ access: "admin", tenant: "alpha" });
    const theirs = await keyOf({ tenant: "bravo" });
    const made = await ask("POST", "/v1/keys", { key, json: { name: "mine" } });
    expect([made.status, made.body.tenant]).toEqual([201, "alpha"]);
    expect((await ask("POST", "/v1/keys", { key, json: { name: "mine", tenant: "bravo" } })).status).toBe(403);
    expect((await ask("GET", "/v1/keys?tenant=bravo", { key })).status).toBe(403);
    const listed = (await ask("GET", "/v1/keys", { key })).body.data;
    expect(listed.map((each: Access) => each.tenant)).toEqual(["alpha", "alpha"]);
    const of = async (tenant: string) =>
      (await ask("GET", `/v1/keys?tenant=${tenant}`, { key: root })).body.data.length;
    expect([
      await of("alpha"),
      await of("bravo"),
      (await ask("GET", "/v1/keys", { key: root })).body.data.length,
    ]).toEqual([2, 1, 4]);
    const idOf = (each: string) => each.slice(4, 12);
    for (const other of [theirs, root]) {
      expect((await ask("DELETE", `/v1/keys/${idOf(other)}`, { key })).body.code).toBe("NOT_FOUND");
      expect((await ask("GET", `/v1/quota?key=${idOf(other)}`, { key })).body.code).toBe("NOT_FOUND");
      expect((await ask("GET", `/v1/quota?key=${idOf(other)}`, { key: root })).status).toBe(200);
      expect(await keys.verify(other)).not.toBeNull();
    }
    expect((await ask("DELETE", `/v1/keys/${made.body.id}`, { key })).status).toBe(204);
    for (const name of ["../bravo", "Bravo", "a/b", "con", ""]) {
      expect((await ask("POST", "/v1/keys", { key: root, json: { name: "k", tenant: name } })).status).toBe(400);
    }
    await audit.flush();
    const told: (string | undefined)[] = [];
    const quotas: unknown[] = [];
    for await (const { call, tenant, mode, code } of audit.entries()) {
      if (call === "keys.revoke") told.push(tenant);
      if (call === "keys.quota") quotas.unshift([tenant, mode, code]);
    }
    expect(told).toEqual(["alpha", "alpha", "alpha"]);
    expect(quotas).toEqual(
      [theirs, root].flatMap(() => [
        ["alpha", "admin", "INTERNAL"],
        [undefined, "admin", null],
      ]),
    );
  });

  it("gives a token the tenant of the key that makes it", async () => {
    const { ask, keyOf, tokens, send } = await world();
    const mint = await keyOf({ access: "mint", tenant: "alpha" });
    const made = await ask("POST", "/v1/tokens", { key: mint, json: { userId: "ada" } });
    const principal = await tokens.verify(made.body.token);
    expect(principal).toEqual({ id: "alpha/user:ada", access: "memory", tenant: "alpha", userId: "ada" });
    expect((await ask("POST", "/v1/tokens", { key: mint, json: { userId: "ada", tenant: "bravo" } })).status).toBe(403);
    // A key of no tenant makes tokens for any.
    const any = await keyOf({ access: "mint" });
    const bravos = await ask("POST", "/v1/tokens", { key: any, json: { userId: "ada", tenant: "bravo" } });
    expect((await tokens.verify(bravos.body.token))?.tenant).toBe("bravo");
    expect((await ask("POST", "/v1/tokens", { key: any, json: { userId: "ada", tenant: "../x" } })).status).toBe(400);
    expect((await send("GET", "/v1/sessions", { key: bravos.body.token })).status).toBe(200);
  });

  it("does a write with an Idempotency-Key once for each tenant", async () => {
    const server = await world();
    const { ask, stores } = server;
    const principal = { id: "shared", access: "memory" } as const;
    const two = await world({
      authenticate: (request) => ({ ...principal, tenant: request.headers.get("authorization")?.slice(7) ?? "" }),
    });
    const json = { id: "chat", name: "x" };
    const headers = { "idempotency-key": "k1" };
    const statuses: number[] = [];
    for (const key of ["alpha", "bravo", "alpha"]) {
      statuses.push((await two.ask("POST", "/v1/sessions", { key, json, headers })).status);
    }
    expect(statuses).toEqual([201, 201, 200]);
    expect(await two.stores.get("bravo")?.sessions.count()).toBe(1);
    expect([stores.size, (await ask("GET", "/healthz")).status]).toEqual([0, 200]);
    expect((await two.ask("GET", "/v1/sessions", { key: "../x" })).status).toBe(400);
  });

  it("keeps a store open under a request and a stream, and closes it when they are sent", async () => {
    let goOn = () => {};
    const slow = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const handlers = {
      "/slow": async () => {
        await slow;
        return new Response("done");
      },
    };
    const { send, ask, keyOf, told } = await world({ handlers }, 1);
    const [a, b] = [await keyOf({ tenant: "a" }), await keyOf({ tenant: "b" })];
    await ask("POST", "/v1/sessions/chat/messages", { key: a, json: { messages: [said("1"), said("2")] } });
    const waits = async (release: () => Promise<unknown> | unknown) => {
      const other = ask("GET", "/v1/sessions", { key: b });
      await sleep(50);
      expect(told).not.toContain("close a");
      await release();
      expect((await other).status).toBe(200);
      expect(told).toContain("close a");
      await ask("GET", "/v1/sessions", { key: a });
      told.length = 0;
    };
    const answer = send("GET", "/slow", { key: a });
    await waits(async () => {
      goOn();
      await (await answer).text();
    });
    const lines = await send("GET", "/v1/sessions/chat/messages", {
      key: a,
      headers: { accept: "application/x-ndjson" },
    });
    await waits(() => lines.text());
    const given = await send("GET", "/v1/sessions/chat/tree", { key: a, headers: { accept: "application/x-ndjson" } });
    await waits(() => given.body?.cancel());
    const events = await send("GET", "/v1/changes", { key: a });
    await waits(() => events.body?.cancel());
    const stream = { client: "c", calls: [{ n: 0, call: "session.stream", session: "chat", values: [] }] };
    const rpc = await send("POST", "/v1/rpc", { key: a, json: stream });
    await waits(() => rpc.text());
    // Nobody reads the answer to HEAD.
    await send("HEAD", "/v1/sessions/chat/messages", { key: a, headers: { accept: "application/x-ndjson" } });
    expect((await ask("GET", "/v1/sessions", { key: b })).status).toBe(200);
  });

  it("answers 503 where the stores of others are in use, and what failed to open as a fault", async () => {
    const control = memory();
    const tenants = new Tenants(() => Promise.reject(new Error("no room on the disk")));
    const { ask, errors } = await world({
      tenants,
      authenticate: () => ({ id: "k", access: "memory", tenant: "a" }),
    });
    const { status, text } = await ask("GET", "/v1/sessions");
    expect([status, text.includes("disk"), String(errors[0])]).toEqual([500, false, "Error: no room on the disk"]);
    await control.close();
  });
});

describe("a server without tenants", () => {
  it("refuses whoever is of one", async () => {
    const { ask, keyOf, control } = await world({ tenants: undefined });
    await control.sessions.create({ id: "chat", name: CANARY });
    for (const access of [{}, { access: "admin" }, { userId: "ada" }] as const) {
      const key = await keyOf({ ...access, tenant: "acme" });
      for (const path of ["/v1/sessions", "/mine", "/v1/changes?wait=1"]) {
        const { status, body } = await ask("GET", path, { key });
        expect([path, status, body.code]).toEqual([path, 403, "FORBIDDEN"]);
      }
    }
  });
});

function bodyFor(operation: object, values: Readonly<Record<string, unknown>>): object {
  const { requestBody } = operation as {
    requestBody?: { content?: Record<string, { schema?: { required?: string[]; $ref?: string } }> };
  };
  const { required = [], $ref } = requestBody?.content?.["application/json"]?.schema ?? {};
  if ($ref !== undefined) return said("m1");
  return Object.fromEntries(required.map((name) => [name, values[name] ?? "m1"]));
}
