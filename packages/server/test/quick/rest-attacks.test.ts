// What attackers and careless clients found. Each case failed once.
import type { Store } from "@stemma/store";
import { describe, expect, it } from "vitest";
import { UserTokens } from "../../src/index.js";
import { HOST, newStore, said, serveRest } from "./rest-helpers.js";

async function withTokens() {
  const store = await newStore();
  return serveRest({ tokens: new UserTokens(store, { audience: HOST }) }, store);
}

describe("a key that makes tokens", () => {
  it.each(["mint", "admin"] as const)("of one user makes none of others (%s)", async (access) => {
    const { ask, keyOf } = await withTokens();
    const key = await keyOf({ access, userId: "ada", keys: ["team"] });
    const make = async (json: object) => (await ask("POST", "/v1/tokens", { key, json })).status;
    expect(await make({ userId: "bob" })).toBe(403);
    expect(await make({ userId: "ada", keys: ["board"] })).toBe(403);
    expect([await make({}), await make({ userId: "ada", keys: ["team"], readOnly: true })]).toEqual([201, 201]);
  });

  it("of one project makes tokens of this project", async () => {
    const { ask, keyOf } = await withTokens();
    const key = await keyOf({ access: "mint", project: "garden" });
    await ask("POST", "/v1/sessions", { json: { id: "private", name: "Private", userId: "ada" } });
    const { body } = await ask("POST", "/v1/tokens", { key, json: { userId: "ada" } });
    expect((await ask("GET", "/v1/sessions/private", { key: body.token })).status).toBe(404);
    const other = await ask("POST", "/v1/tokens", { key, json: { userId: "ada", project: "boat" } });
    expect(other.body).toMatchObject({ status: 403, code: "FORBIDDEN" });
  });
});

describe("a session of another", () => {
  const PLACES = [
    ["GET", "/v1/memory/session%3A{id}/entries/facts?asOf=never", {}],
    ["POST", "/v1/memory/session%3A{id}/entries/facts/search", { json: { query: "tea", threshold: 1 } }],
    ["POST", "/v1/memory/session%3A{id}/entries/facts/query", { json: { asOf: "never" } }],
    ["PATCH", "/v1/sessions/{id}", { json: { name: "Mine" } }],
    ["PATCH", "/v1/sessions/{id}", { json: {}, headers: { "if-match": '"x"' } }],
    ["POST", "/v1/sessions/{id}/fork", { json: { messageId: "m1", name: "Copy" } }],
    ["POST", "/v1/sessions/{id}/split", { json: { summary: "Sum" } }],
    ["POST", "/v1/sessions/{id}/usage", { json: { inputTokens: 1, outputTokens: 1 } }],
  ] as const;

  it.each(PLACES)("is refused as one that is not there: %s %s %j", async (method, path, sent) => {
    const { ask, keyOf } = await serveRest();
    const key = await keyOf({ userId: "ada" });
    await ask("POST", "/v1/sessions", { json: { id: "bobs", name: "Bob's", userId: "bob" } });
    await ask("POST", "/v1/sessions/bobs/messages", { json: { messages: [said("m1")] } });
    const refused = async (id: string) => {
      const { status, body } = await ask(method, path.replace("{id}", id), { ...sent, key });
      return JSON.stringify([status, { ...body, requestId: "" }]).replaceAll(id, "ID");
    };
    expect(await refused("bobs")).toBe(await refused("none"));
    expect(await refused("bobs")).toContain("SESSION_NOT_FOUND");
  });
});

describe("bytes that are no text", () => {
  it("are refused in a body and in a query", async () => {
    const { ask } = await serveRest();
    const body = new Uint8Array([...new TextEncoder().encode('{"name":"Caf'), 0xe9, ...new TextEncoder().encode('"}')]);
    const headers = { "content-type": "application/json" };
    expect((await ask("POST", "/v1/sessions", { body, headers })).body).toMatchObject({ code: "INVALID_TEXT" });
    expect((await ask("GET", "/v1/sessions?name=Caf%E9")).body).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("are no key of the studio's", async () => {
    const { send, errors } = await serveRest({ studio: true });
    for (const key of ["%00", "a%0D%0Ab", "%E2%82%AC"]) {
      const cookie = await send("GET", "/studio/api/sessions", { key: "", headers: { cookie: `stemma-key=${key}` } });
      const headers = { "content-length": "20" };
      const signIn = await send("POST", "/studio/sign-in", { key: "", headers, body: `key=x${key}x` });
      expect([key, cookie.status, signIn.status]).toEqual([key, 401, 401]);
    }
    expect(errors).toEqual([]);
  });
});

it("takes a body that breaks off for no fault of the server's", async () => {
  const { ask, errors } = await serveRest();
  const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError("aborted")) });
  const headers = { "content-type": "application/json" };
  expect((await ask("POST", "/v1/sessions", { body, headers })).body).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(errors).toEqual([]);
});

describe("an import that was cut off", () => {
  it("is completed by the same request with the same Idempotency-Key", async () => {
    const store = await newStore();
    const { ask, keyOf } = await serveRest({}, store);
    const key = await keyOf();
    for (const label of ["one", "two", "three"]) {
      await ask("PUT", `/v1/memory/session%3Achat/blocks/${label}`, { json: { content: label } });
    }
    await ask("POST", "/v1/sessions/chat/messages", { json: { messages: [said("m1")] } });
    const file = (await ask("GET", "/v1/sessions/chat/export")).body;
    const send = (server: Pick<Awaited<ReturnType<typeof serveRest>>, "ask">) => {
      const headers = { "content-type": "application/x-ndjson", "idempotency-key": "import-1" };
      return server.ask("POST", "/v1/sessions/copy/import", { key, body: file, headers });
    };
    let writes = 0;
    const dying = (each: Store): Store => {
      const set: typeof each.blocks.set = (...values) => {
        writes += 1;
        return writes === 2 ? Promise.reject(new RangeError("The process ends here.")) : each.blocks.set(...values);
      };
      const once: Store["once"] = (operation) => dying(each.once?.(operation) ?? each);
      return { ...each, blocks: { ...each.blocks, set }, once };
    };
    expect((await send(await serveRest({}, dying(store)))).status).toBe(500);
    expect((await send(await serveRest({}, store))).status).toBe(200);
    const { body } = await ask("GET", "/v1/memory/session%3Acopy/blocks");
    expect(body.data.map(({ content }: { content: string }) => content)).toEqual(["one", "three", "two"]);
  });
});

describe("a body that breaks off", () => {
  const broken = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"role":"user",'));
        controller.error(new Error("reset"));
      },
    });

  it.each([
    ["/v1/sessions/a/import", "application/x-ndjson"],
    ["/v1/sessions/a/messages", "application/json"],
  ])("is refused, and no fault of the server: %s", async (path, type) => {
    const { ask, errors } = await serveRest();
    const { status, body } = await ask("POST", path, { body: broken(), headers: { "content-type": type } });
    expect([status, body.code, errors]).toEqual([400, "INVALID_ARGUMENT", []]);
  });
});
