import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Io } from "../../../packages/cli/src/io.js";
import { createChats } from "../../../packages/cli/src/serve/config-file.js";
import { ServerLog } from "../../../packages/cli/src/serve/log.js";
import { Metrics } from "../../../packages/cli/src/serve/metrics.js";
import { readSettings, shownSettings } from "../../../packages/cli/src/serve/settings.js";
import { ApiKeys, authenticator, createServer, Tenants } from "../../../packages/server/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();

describe("the settings of stemma serve", () => {
  it("takes a flag before a variable, that before the file, and that before what is usual", () => {
    const file = { port: 3, host: "10.0.0.3", rateLimit: 30, origins: ["https://a.example.com"] };
    const variables = { STEMMA_PORT: "2", PORT: "9", HOST: "10.0.0.2" };
    const settings = readSettings({ port: 1 }, variables, file);
    expect(settings).toMatchObject({ port: 1, host: "10.0.0.2", rateLimit: 30, drainDelay: 5, studio: true });
    expect(settings.origins).toEqual(["https://a.example.com"]);
    expect(readSettings({}, { DATABASE_URL: "postgres://h/d", STEMMA_DB: "" }, undefined).db).toBe("postgres://h/d");
    expect(readSettings({}, { DATABASE_URL: "postgres://h/d", STEMMA_DB: "a.db" }, undefined).db).toBe("a.db");
    expect(readSettings({}, { PORT: "9", STEMMA_STUDIO: "no" }, undefined)).toMatchObject({ port: 9, studio: false });
  });

  it("takes a quota as a text, and of a file as an object, too", () => {
    const quota = { writesPerDay: 7, bytesPerDay: 9 };
    expect(readSettings({ quota }, {}, undefined).quota).toEqual(quota);
    expect(
      readSettings({}, { STEMMA_QUOTA: "writesPerDay=7,bytesPerDay=9" }, { quota: "writesPerDay=1" }).quota,
    ).toEqual(quota);
    expect(readSettings({}, {}, { quota }).quota).toEqual(quota);
    expect(readSettings({}, {}, {}).quota).toBeUndefined();
    expect(readSettings({}, { STEMMA_TENANT_QUOTA: "writesPerDay=7" }, {}).tenantQuota).toEqual({ writesPerDay: 7 });
  });

  it.each([
    [{}, { STEMMA_QUOTA: "many" }, undefined],
    [{}, {}, { quota: { writesPerDay: -1 } }],
    [{}, {}, { quota: { perDay: 1 } }],
    [{}, {}, { quota: [] }],
    [{}, { PORT: "80x" }, undefined],
    [{}, { STEMMA_STUDIO: "maybe" }, undefined],
    [{}, { STEMMA_PUBLIC_URL: "https://example.com/memory" }, undefined],
    [{}, {}, { prot: 1 }],
    [{}, {}, { port: "no" }],
    [{}, {}, []],
    [{}, {}, { origins: ["app.example.com"] }],
    [{}, { STEMMA_TENANTS: "tenants/all.db" }, undefined],
    [{}, { STEMMA_TENANTS: "tenants/{tenant}" }, undefined],
    [{}, {}, { tenants: "mysql://h/d" }],
    [{}, { STEMMA_MAX_TENANTS: "0" }, undefined],
  ])("refuses %j, %j, %j", (flags, variables, file) => {
    expect(() => readSettings(flags, variables, file)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  it("shows no secret", () => {
    const settings = readSettings(
      {},
      {
        STEMMA_ADMIN_KEY: "hidden-hidden-hidden",
        STEMMA_DB: "postgres://u:pw@h/d",
        STEMMA_TENANTS: "postgres://u:pw@h/t",
      },
      undefined,
    );
    expect(JSON.stringify(shownSettings(settings))).not.toMatch(/hidden|pw/);
  });
});

describe("stemma serve", () => {
  const db = join(folder, "serve.db");

  it("listens where others come only with keys", async () => {
    const { code, err } = await run(["--db", db, "serve", "--host", "0.0.0.0", "--port", "0"]);
    expect(code).toBe(2);
    expect(err).toContain("stemma key create");
  });

  it("tells of a file that cannot be read, of a key that can be guessed, and of tokens of nobody", async () => {
    const config = join(folder, "broken.json");
    writeFileSync(config, "{");
    const broken = await run(["--db", db, "serve", "--config", config]);
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining("--config cannot be read")]);
    writeFileSync(config, JSON.stringify({ adminKey: "short", port: 0 }));
    expect((await run(["--db", db, "serve", "--config", config])).err).toContain("A token has at least 16");
    const half = await run(["--db", db, "serve", "--port", "0", "--jwt-issuer", "https://login.example.com"]);
    expect(half.err).toContain("--jwt-jwks and --jwt-issuer");
  });
});

describe("what a server tells of itself", () => {
  const record = {
    id: "r",
    method: "GET",
    route: "/v1/sessions",
    status: 200,
    ms: 7,
    principal: "k",
    tenant: null,
    code: null,
  };
  const written = (work: (io: Io) => void) => {
    let text = "";
    const add = (more: string) => {
      text += more;
    };
    work({ write: async (more: string) => add(more), writeError: add } as unknown as Io);
    return text;
  };

  it("logs of a fault what kind it is and where, not what it says", () => {
    const cause = Object.assign(new Error("duplicate key: the canary sings"), { code: "23505" });
    const text = written((io) => new ServerLog(io, true).fault(new Error("canary", { cause }), "r-1"));
    expect(JSON.parse(text)).toMatchObject({ event: "fault", requestId: "r-1", cause: { code: "23505" } });
    expect(text).not.toContain("canary");
    expect(written((io) => new ServerLog(io, true).fault("canary", null))).not.toContain("canary");
  });

  it("writes a line of a request, and none of a health check that went well", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const log = (isJson: boolean, more: object = {}) =>
      written((io) => {
        new ServerLog(io, isJson).request({ ...record, ...more });
        vi.runAllTimers();
      });
    expect(log(false)).toBe("GET /v1/sessions 200 7 ms\n");
    expect(log(false, { route: null, status: 404, code: "NOT_FOUND" })).toBe("GET ? 404 NOT_FOUND 7 ms\n");
    expect(JSON.parse(log(true))).toMatchObject({ level: "info", event: "request", status: 200 });
    expect(log(true, { route: "/healthz" })).toBe("");
    expect(log(true, { route: "/readyz", status: 503 })).not.toBe("");
  });

  it("counts requests as Prometheus reads them", () => {
    const metrics = new Metrics();
    metrics.begin();
    metrics.count(record);
    metrics.count({ ...record, ms: 30_000, method: 'X"\n', route: null });
    for (let time = 0; time < 2; time += 1)
      metrics.count({ ...record, route: "/full", status: 429, code: "QUOTA_EXCEEDED" });
    const text = metrics.text();
    expect(text).toContain('stemma_http_requests_total{method="GET",route="/v1/sessions",status="200"} 1\n');
    expect(text).toContain('_bucket{method="GET",route="/v1/sessions",le="0.005"} 0\n');
    expect(text).toContain('_bucket{method="GET",route="/v1/sessions",le="0.01"} 1\n');
    expect(text).toContain('method="X__",route="none",le="10"} 0\n');
    expect(text).toContain("stemma_http_requests_in_flight 1\n");
    expect(text).toContain('stemma_http_refusals_total{code="QUOTA_EXCEEDED"} 2\n');
  });
});

describe("the chats of stemma serve", () => {
  it("end in their tenant's store, although the reader left and others need the room", async () => {
    const folderOf = join(folder, "chats");
    mkdirSync(folderOf);
    const told: string[] = [];
    const tenants = new Tenants(
      (tenant) => {
        told.push(tenant);
        return sqlite(join(folderOf, `${tenant}.db`));
      },
      { max: 1 },
    );
    const errors: unknown[] = [];
    const { model } = scriptedModel(() => ({ slow: "Good day to all of you.", pause: 40, isDeaf: true }));
    const server = createServer(memory(), {
      authenticate: ({ headers }) => ({
        id: "k",
        access: "memory",
        userId: "ada",
        tenant: headers.get("authorization") ?? "",
      }),
      tenants,
      handlers: { "/api/chat": createChats({ model }, (error) => errors.push(error)) },
    });
    const ask = (tenant: string, path: string, body?: object) => {
      const headers = { authorization: tenant, "content-type": "application/json" };
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      return server(new Request(`https://memory.example.com${path}`, { ...init, headers }));
    };
    const message = { id: "q1", role: "user", parts: [{ type: "text", text: "Hello" }] };
    const answer = await ask("acme", "/api/chat", { id: "c1", messages: [message] });
    const reader = answer.body?.getReader();
    await reader?.read();
    const other = ask("globex", "/v1/sessions");
    await new Promise((next) => setTimeout(next, 50));
    expect(told).toEqual(["acme"]);
    await reader?.cancel();
    expect((await other).status).toBe(200);
    const textOf = async () => (await ask("acme", "/api/chat/c1")).text();
    await expect.poll(textOf, { interval: 50 }).toContain("of you.");
    expect(told.slice(0, 3)).toEqual(["acme", "globex", "acme"]);
    expect(errors).toEqual([]);
    await tenants.close();
  });

  it("answer a user of theirs, who alone sees the chat, and nobody without a user", async () => {
    const { model } = scriptedModel(() => "Good day.");
    const store = memory();
    const keys = new ApiKeys(store);
    const server = createServer(store, {
      authenticate: authenticator({ keys }),
      handlers: { "/api/chat": createChats({ model }, () => {}) },
    });
    const ask = async (reach: { userId?: string }, path: string, body?: object) => {
      const { key } = await keys.create({ name: "test", access: "memory", ...reach });
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const response = await server(new Request(`https://memory.example.com${path}`, { ...init, headers }));
      return { status: response.status, text: await response.text() };
    };
    const message = { id: "q1", role: "user", parts: [{ type: "text", text: "Hello" }] };
    const answered = await ask({ userId: "ada" }, "/api/chat", { id: "c1", messages: [message] });
    expect([answered.status, answered.text]).toEqual([200, expect.stringContaining("Good day.")]);
    expect((await ask({ userId: "ada" }, "/api/chat/c1")).text).toContain("Good day.");
    expect((await ask({ userId: "bob" }, "/api/chat/c1")).status).toBe(404);
    expect(await ask({}, "/api/chat/c1")).toMatchObject({ status: 403, text: expect.stringContaining("FORBIDDEN") });
  });
});
