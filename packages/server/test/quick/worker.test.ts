// The Worker and its objects in this process. What they are in workerd stands in test/platforms/workers.
import { type DurableObjectContext, durableObject } from "@stemma/store/durable-object";
import { describe, expect, it, vi } from "vitest";
import { objectContext } from "../../../../test/documents/host.js";
import { authenticator, type Principal, RateLimits, UserTokens } from "../../src/index.js";
import { createWorker, type UserMemoryOptions, userMemory } from "../../src/worker/index.js";
import { HOST, said } from "./rest-helpers.js";

const SECRET = "a secret of the test, and of nothing else";
const DAY = 86_400_000;

/** The context of an object whose alarm can be looked at. */
function alarmContext() {
  const alarm = { time: null as number | null };
  const context: DurableObjectContext = objectContext();
  const storage = Object.assign(context.storage, {
    getAlarm: async () => alarm.time,
    setAlarm: async (time: number) => {
      alarm.time = time;
    },
  });
  return { alarm, ctx: { storage } };
}

interface Options {
  readonly object?: UserMemoryOptions;
  readonly principal?: Principal;
  readonly failure?: unknown;
}

function serve({ object, principal, failure }: Options = {}) {
  const tokens = new UserTokens(SECRET, { audience: HOST });
  const objects = new Map<string, ReturnType<typeof userMemory>>();
  const requests: Request[] = [];
  const errors: unknown[] = [];
  const namespace = {
    idFromName: (name: string) => name,
    get: (id: unknown) => ({
      fetch: async (request: Request) => {
        requests.push(request);
        if (failure !== undefined) throw failure;
        const found = objects.get(String(id)) ?? userMemory(alarmContext().ctx, object);
        objects.set(String(id), found);
        return found.fetch(request);
      },
    }),
  };
  const worker = createWorker((env: { readonly origin: string }) => ({
    namespace,
    authenticate: authenticator({ tokens, authenticate: () => principal ?? null }),
    tokens,
    origins: [env.origin],
    onError: (error) => errors.push(error),
  }));
  const env = { origin: "https://app.example.com" };
  const send = async (method: string, path: string, init: RequestInit & { readonly user?: string } = {}) => {
    const { user = "ada", ...rest } = init;
    const headers = new Headers({ "content-type": "application/json", ...(rest.headers as Record<string, string>) });
    if (user !== "") headers.set("authorization", `Bearer ${(await tokens.create({ userId: user })).token}`);
    return worker.fetch(new Request(HOST + path, { ...rest, method, headers }), env);
  };
  return { send, objects, requests, errors };
}

const appended = (text = "A word") => ({ body: JSON.stringify({ messages: [said("q1", text)] }) });
const codeOf = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code];

describe("createWorker", () => {
  it("passes a request to the object of its user, and to no other, whatever it says", async () => {
    const { send, objects, requests } = serve();
    const headers = { cookie: "secret", "stemma-principal": '{"id":"x","access":"admin","userId":"bob"}' };
    expect((await send("POST", "/v1/sessions/trip/messages?userId=bob", { ...appended(), headers })).status).toBe(400);
    expect((await send("POST", "/v1/sessions/trip/messages", { ...appended(), headers })).status).toBe(200);
    expect([...objects.keys()]).toEqual(["ada"]);
    expect(requests.map(({ headers: given }) => [given.get("authorization"), given.get("cookie")])).toEqual([
      [null, null],
      [null, null],
    ]);
    expect((await send("GET", "/v1/sessions/trip", { user: "bob" })).status).toBe(404);
    expect((await send("GET", "/v1/memory/user%3Aada/blocks", { user: "bob" })).status).toBe(403);
    const read = await send("GET", "/v1/sessions/trip/messages", { headers: { "x-request-id": "r-1" } });
    expect(read.headers.get("x-request-id")).toBe("r-1");
    expect(await read.json()).toMatchObject({ data: [{ id: "q1" }] });
  });

  it("answers by itself whoever is not let in, pages of other origins, and what asks for its health", async () => {
    const { send, requests } = serve();
    const refused = await send("GET", "/v1/sessions", { user: "" });
    expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    expect(await codeOf(refused)).toEqual([401, "NOT_ALLOWED"]);
    expect(await (await send("GET", "/healthz", { user: "" })).text()).toBe("ok");
    const origin = "https://app.example.com";
    const asked = { user: "", headers: { origin, "access-control-request-method": "POST" } };
    expect((await send("OPTIONS", "/v1/sessions", asked)).headers.get("access-control-allow-origin")).toBe(origin);
    expect(requests).toEqual([]);
  });

  it.each([
    [{ id: "site", access: "mint" }, 403, "FORBIDDEN"],
    [{ id: "root", access: "admin" }, 422, "STORE_UNSUPPORTED"],
    [{ id: "backend", access: "memory" }, 422, "STORE_UNSUPPORTED"],
    [{ id: "ada", access: "memory", userId: "ada", keys: ["team"] }, 422, "STORE_UNSUPPORTED"],
    [{ id: "ada", access: "memory", userId: "ada", tenant: "acme" }, 422, "STORE_UNSUPPORTED"],
    [{ id: "ada", access: "memory", userId: undefined }, 400, "INVALID_ARGUMENT"],
  ] as const)("refuses what is not one user's: %j", async (principal, status, code) => {
    const { send, requests } = serve({ principal: principal as Principal });
    for (const path of ["/v1/sessions", "/v1/usage?by=session", "/v1/users/ada"]) {
      expect(await codeOf(await send("GET", path))).toEqual([status, code]);
    }
    expect(requests).toEqual([]);
  });

  it("gives each user an object, whatever their id is, and none to what is no id", async () => {
    const { send, objects } = serve();
    const users = ["a/b", "..", "ü💬", "x".repeat(512), "ada ", "ADA", "stemma-principal: x", "%00"];
    for (const user of users) {
      expect((await send("POST", "/v1/sessions/trip/messages", { user, ...appended(user) })).status).toBe(200);
    }
    for (const user of users) {
      const { data } = (await (await send("GET", "/v1/sessions/trip/messages", { user })).json()) as {
        data: unknown[];
      };
      expect(data).toEqual([said("q1", user)]);
    }
    expect([...objects.keys()]).toEqual(users);
    for (const userId of ["", "\ud800", "a\0b"]) {
      const nobody = serve({ principal: { id: "x", access: "memory", userId } });
      expect((await nobody.send("GET", "/v1/sessions")).status).toBe(400);
      expect(nobody.requests).toEqual([]);
    }
  });

  it("makes tokens for users for a service that may", async () => {
    const body = JSON.stringify({ userId: "bob" });
    const made = await serve({ principal: { id: "site", access: "mint" } }).send("POST", "/v1/tokens", { body });
    expect(made.status).toBe(201);
    expect((await serve().send("POST", "/v1/tokens", { body })).status).toBe(403);
  });

  it("refuses a quota that users share, and takes one of the user", async () => {
    const quota = { writesPerDay: 1 };
    const ada = { access: "memory", userId: "ada", quota } as const;
    const shared = serve({ principal: { ...ada, id: "user:ada", countedAs: "a key" } });
    expect(await codeOf(await shared.send("GET", "/v1/sessions"))).toEqual([422, "STORE_UNSUPPORTED"]);
    expect(shared.objects.size).toBe(0);
    const own = serve({ principal: { ...ada, id: "user:ada", countedAs: "user:ada" } });
    expect((await own.send("POST", "/v1/sessions/trip/messages", appended())).status).toBe(200);
    expect(await codeOf(await own.send("DELETE", "/v1/sessions/trip"))).toEqual([429, "QUOTA_EXCEEDED"]);
  });

  it("says that a request may be sent again where the object ended, and else that it failed", async () => {
    const ended = serve({ failure: Object.assign(new Error("secret"), { retryable: true }) });
    const response = await ended.send("GET", "/v1/sessions");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({ status: 503, code: "CONNECTION_LOST", retryable: true });
    const failure = new Error("secret");
    const { send, errors } = serve({ failure });
    const failed = await (await send("GET", "/v1/sessions")).text();
    expect([failed.includes("secret"), errors]).toEqual([false, [failure]]);
  });

  it("ends what an object sends soon after its reader is no longer let in", async () => {
    const { send } = serve();
    await send("POST", "/v1/sessions/trip/messages", appended());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] });
    try {
      let isOver = false;
      void (await send("GET", "/v1/changes")).text().then(() => {
        isOver = true;
      });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(isOver).toBe(false);
      vi.setSystemTime(Date.now() + 601_000);
      await vi.advanceTimersByTimeAsync(16_000);
      expect(isOver).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it("refuses what are no options, with the first request", async () => {
    const worker = createWorker(() => ({ namespace: {}, authenticate: () => ({}) }) as never);
    await expect(worker.fetch(new Request(HOST), {})).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("userMemory", () => {
  it("answers nothing that did not come through the Worker", async () => {
    const { ctx } = alarmContext();
    const all = encodeURIComponent('{"id":"root","access":"admin"}');
    for (const value of [undefined, "", "nonsense", "%E0%A4%A", "{}", "null", "5", all]) {
      const headers = value === undefined ? {} : { "stemma-principal": value };
      const response = await userMemory(ctx).fetch(new Request(`${HOST}/v1/sessions`, { headers }));
      expect([value, ...(await codeOf(response))]).toEqual([value, 401, "NOT_ALLOWED"]);
    }
  });

  it("counts the requests of its user, and has the routes and blocks that it is given", async () => {
    const { send } = serve({
      object: {
        limits: new RateLimits({ perMinute: 3 }),
        sessions: (sessions) => sessions.withContext("memory", { scope: "user" }).withCachedPrompt(),
        handlers: { "/mine": async (_request, { sessions }) => Response.json(await sessions.list()) },
      },
    });
    await send("POST", "/v1/sessions/trip/messages", appended());
    expect(await (await send("GET", "/mine")).json()).toMatchObject([{ id: "trip" }]);
    const turn = await send("POST", "/v1/sessions/trip/turn");
    expect(await turn.json()).toMatchObject({ system: expect.stringContaining("MEMORY") });
    expect(await codeOf(await send("GET", "/mine"))).toEqual([429, "RATE_LIMITED"]);
  });

  it("removes once a week what is too old, checks, and tells of it", async () => {
    const { ctx, alarm } = alarmContext();
    const errors: unknown[] = [];
    const whole = durableObject(ctx);
    let isBroken = false;
    const check: typeof whole.check = (options) =>
      isBroken
        ? Promise.reject(new Error("secret"))
        : (whole.check?.(options) as ReturnType<NonNullable<typeof check>>);
    const memory = userMemory(ctx, {
      store: { ...whole, check },
      retention: { keepMessages: 1 },
      onError: (error) => errors.push(error),
    });
    const principal = encodeURIComponent(JSON.stringify({ id: "ada", access: "memory", userId: "ada" }));
    const ask = async (method: string, path: string, json?: unknown) => {
      const headers = { "stemma-principal": principal, "content-type": "application/json" };
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      return (await memory.fetch(new Request(HOST + path, { method, headers, ...body }))).json();
    };
    expect(await ask("GET", "/upkeep")).toBe(null);
    expect(alarm.time).toBe(null);
    await ask("POST", "/v1/sessions/trip/messages", { messages: [said("q1"), said("q2")] });
    expect(alarm.time).toBeGreaterThan(Date.now() + 6 * DAY);
    await ask("PUT", "/v1/sessions/trip/leaf", { messageId: "q2" });
    await memory.alarm();
    expect(await ask("GET", "/upkeep")).toMatchObject({ ok: true, deleted: { messages: 1 }, problems: [] });
    isBroken = true;
    await memory.alarm();
    expect(await ask("GET", "/upkeep")).toEqual({ at: expect.any(String), ok: false, code: "INTERNAL" });
    expect(errors).toEqual([new Error("secret")]);
    const idle = alarmContext();
    await userMemory(idle.ctx).alarm();
    expect(idle.alarm.time).toBe(null);
  });

  it("refuses what are no options", () => {
    const { ctx } = alarmContext();
    for (const options of [{ retention: 5 }, { store: {} }, { stoer: 1 }, { limits: {} }]) {
      expect(() => userMemory(ctx, options as never)).toThrow();
    }
  });
});

it("signs tokens with a secret of yours, if it is long enough", async () => {
  const token = (await new UserTokens(SECRET, { audience: HOST }).create({ userId: "ada" })).token;
  expect(await new UserTokens(SECRET, { audience: HOST }).verify(token)).toMatchObject({ userId: "ada" });
  expect(await new UserTokens(`${SECRET}.`, { audience: HOST }).verify(token)).toBe(null);
  expect(() => new UserTokens("short", { audience: HOST })).toThrow(/32 characters/);
  expect(() => new UserTokens(undefined as never, { audience: HOST })).toThrow(/needs a store/);
});
