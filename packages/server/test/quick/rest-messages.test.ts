import { describe, expect, it } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

const PATH = "/v1/sessions/trip";
const idsOf = (messages: readonly { readonly id: string }[]) => messages.map(({ id }) => id);

async function withMessages(count = 5) {
  const server = await serveRest();
  const messages = Array.from({ length: count }, (_, at) => said(`m${at}`, `Text ${at}`));
  await server.ask("POST", `${PATH}/messages`, { json: { messages } });
  return server;
}

describe("REST: messages", () => {
  it("appends once, and refuses where another leaf is active", async () => {
    const { ask } = await serveRest();
    const send = (json: unknown) => ask("POST", `${PATH}/messages`, { json });
    expect((await send({ messages: [said("q1"), said("a1")] })).body).toEqual({ insertedIds: ["q1", "a1"] });
    expect((await send({ messages: [said("q1"), said("a1")] })).body).toEqual({ insertedIds: [] });
    const moved = await send({ messages: [said("q2")], expectedLeaf: "q1" });
    expect([moved.status, moved.body.code]).toEqual([409, "LEAF_MOVED"]);
    expect((await send({ messages: [said("q2")], expectedLeaf: "a1" })).status).toBe(200);
    expect((await send({ messages: [said("root")], parent: null })).status).toBe(200);
    expect(idsOf((await ask("GET", `${PATH}/messages`)).body.data)).toEqual(["root"]);
    expect((await send({ messages: [said("q3")], parent: "nowhere" })).body.code).toBe("PARENT_NOT_FOUND");
  });

  it("keeps whatever JSON a message holds", async () => {
    const { ask } = await serveRest();
    const body = `{"messages":[{"id":"q1","role":"tool","parts":[{"type":"x","__proto__":{"a":1},"deep":[[[null]]]}],"metadata":null,"other":-0.5}]}`;
    const headers = { "content-type": "application/json; charset=utf-8" };
    expect((await ask("POST", `${PATH}/messages`, { body, headers })).status).toBe(200);
    const read = await ask("GET", `${PATH}/messages/q1`);
    expect(`{"messages":[${JSON.stringify(read.body)}]}`).toBe(body);
  });

  it("reads the history page by page in both orders, of a branch, and whole as lines", async () => {
    const { ask, send } = await withMessages();
    for (const [order, expected] of [
      ["asc", ["m0", "m1", "m2", "m3", "m4"]],
      ["desc", ["m4", "m3", "m2", "m1", "m0"]],
    ] as const) {
      const found: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const query = cursor === "" ? "" : `&cursor=${cursor}`;
        const { body } = await ask("GET", `${PATH}/messages?limit=2&order=${order}${query}`);
        found.push(...idsOf(body.data));
        cursor = body.nextCursor;
      }
      expect(found).toEqual(expected);
    }
    expect(idsOf((await ask("GET", `${PATH}/messages?leaf=m1`)).body.data)).toEqual(["m0", "m1"]);
    const whole = await send("GET", `${PATH}/messages`, { headers: { accept: "application/x-ndjson" } });
    const lines = (await whole.text()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    const newest = await ask("GET", `${PATH}/messages?maxBytes=1&minMessages=2`);
    expect([idsOf(newest.body.data), newest.body.truncated]).toEqual([["m3", "m4"], true]);
    const one = await ask("GET", `${PATH}/messages?limit=2`);
    await ask("DELETE", `${PATH}/messages/m1`);
    const gone = await ask("GET", `${PATH}/messages?limit=2&cursor=${one.body.nextCursor}`);
    expect([gone.status, gone.body.code]).toEqual([400, "INVALID_ARGUMENT"]);
  });

  it("gives fewer large messages in a page", async () => {
    const { ask } = await serveRest();
    for (const id of ["a", "b", "c"]) {
      await ask("POST", `${PATH}/messages`, { json: { messages: [said(id, "x".repeat(4_000_000))] } });
    }
    const first = await ask("GET", `${PATH}/messages`);
    expect(idsOf(first.body.data)).toEqual(["a", "b"]);
    const second = await ask("GET", `${PATH}/messages?cursor=${first.body.nextCursor}`);
    expect([idsOf(second.body.data), second.body.nextCursor]).toEqual([["c"], null]);
  });

  it("replaces a message whose tag is given, and no other", async () => {
    const { ask } = await withMessages();
    const path = `${PATH}/messages/m1`;
    const etag = (await ask("GET", path)).headers.get("etag") ?? "";
    expect((await ask("GET", path, { headers: { "if-none-match": etag } })).status).toBe(304);
    const put = (json: unknown, headers = {}) => ask("PUT", path, { json, headers });
    expect((await put(said("m1", "new"), { "if-match": etag })).body).toEqual({ inserted: false });
    const stale = await put(said("m1", "newer"), { "if-match": etag });
    expect([stale.status, stale.body.code]).toEqual([412, "MESSAGE_CHANGED"]);
    const there = await put(said("m1"), { "if-none-match": "*" });
    expect([there.status, there.body.code]).toEqual([412, "MESSAGE_EXISTS"]);
    expect((await put(said("other"))).body.code).toBe("INVALID_ARGUMENT");
    expect((await put({ role: "user", parts: [] })).status).toBe(200);
    const made = await ask("PUT", `${PATH}/messages/new?parent=`, {
      json: said("new"),
      headers: { "if-none-match": "*" },
    });
    expect([made.status, made.body]).toEqual([201, { inserted: true }]);
    expect(idsOf((await ask("GET", `${PATH}/messages`)).body.data)).toEqual(["new"]);
    const none = await ask("PUT", `${PATH}/messages/none`, { json: said("none"), headers: { "if-match": "*" } });
    expect([none.status, none.body.code]).toEqual([404, "MESSAGE_NOT_FOUND"]);
  });

  it("edits beside a message, deletes and clears", async () => {
    const { ask } = await withMessages();
    const edited = await ask("POST", `${PATH}/messages/m4/siblings`, { json: { message: said("m4b") } });
    expect(edited.body).toEqual({ inserted: true });
    expect(idsOf((await ask("GET", `${PATH}/messages`)).body.data)).toEqual(["m0", "m1", "m2", "m3", "m4b"]);
    const deleted = await ask("POST", `${PATH}/messages/delete`, { json: { ids: ["m1", "nowhere", "m2"] } });
    expect(deleted.body).toEqual({ deletedIds: ["m1", "m2"] });
    expect((await ask("DELETE", `${PATH}/messages/m1`)).body.code).toBe("MESSAGE_NOT_FOUND");
    expect((await ask("DELETE", `${PATH}/messages/m3`)).status).toBe(204);
    expect((await ask("POST", `${PATH}/clear`)).status).toBe(204);
    expect((await ask("GET", `${PATH}/messages`)).body).toEqual({ data: [], nextCursor: null });
  });

  it("tells whoever may not know of a session what it tells of one that is not there", async () => {
    const { ask, keyOf } = await withMessages();
    const key = await keyOf({ userId: "eve" });
    for (const [method, rest, json] of [
      ["GET", ""],
      ["GET", "/messages"],
      ["GET", "/messages?maxBytes=10"],
      ["GET", "/messages/m1"],
      ["DELETE", "/messages/m1"],
      ["POST", "/messages/delete", { ids: ["m1"] }],
      ["POST", "/messages/m1/siblings", { message: said("x") }],
      ["POST", "/clear"],
      ["DELETE", ""],
    ] as const) {
      const [there, nowhere] = await Promise.all(
        [PATH, "/v1/sessions/none"].map(async (path) => {
          const { status, body } = await ask(method, path + rest, { key, ...(json === undefined ? {} : { json }) });
          return [status, body.code];
        }),
      );
      expect([method, rest, there]).toEqual([method, rest, [404, "SESSION_NOT_FOUND"]]);
      expect(nowhere).toEqual(there);
    }
  });
});

describe("REST: what is refused", () => {
  it("names the field, and says what it must be", async () => {
    const { ask } = await withMessages();
    const cases = [
      ["GET", `${PATH}/messages?limti=3`, undefined, 'no field "limti"'],
      ["GET", `${PATH}/messages?limit=0`, undefined, '"limit" of the query'],
      ["GET", `${PATH}/messages?limit=1&limit=2`, undefined, '"limit" stands twice'],
      ["GET", `${PATH}/messages?order=down`, undefined, '"order"'],
      ["POST", `${PATH}/messages`, { messages: [said("x")], expectedLeav: "m4" }, 'no field "expectedLeav"'],
      ["POST", `${PATH}/messages`, { messages: [] }, '"messages"'],
      ["POST", `${PATH}/messages`, { messages: ["x"] }, '"messages.0"'],
      ["POST", `${PATH}/messages`, undefined, '"messages"'],
      ["POST", `${PATH}/messages`, [1], "JSON object"],
      ["POST", "/v1/sessions", { name: 3 }, '"name" of the body is not as it must be: expected string'],
    ] as const;
    for (const [method, path, json, detail] of cases) {
      const { status, body, headers } = await ask(method, path, json === undefined ? {} : { json });
      expect([status, body.code, body.detail]).toEqual([400, "INVALID_ARGUMENT", expect.stringContaining(detail)]);
      expect(headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    }
  });

  it("refuses bodies that are too large, too deep, packed, or of another type", async () => {
    const { ask } = await serveRest({ maxBodyBytes: 100_000 });
    const send = (body: string, headers: Record<string, string> = {}) =>
      ask("POST", `${PATH}/messages`, { body, headers: { "content-type": "application/json", ...headers } });
    const tooLarge = await send(JSON.stringify({ messages: [said("q1", "x".repeat(100_000))] }));
    expect([tooLarge.status, tooLarge.body.code]).toEqual([413, "REQUEST_TOO_LARGE"]);
    const deep = `{"messages":[${"[".repeat(40_000)}${"]".repeat(40_000)}]}`;
    expect((await send(deep)).body).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect((await send("{}", { "content-encoding": "gzip" })).body).toMatchObject({ status: 415 });
    expect((await send("{}", { "content-type": "text/plain" })).body).toMatchObject({ code: "UNSUPPORTED_MEDIA_TYPE" });
    expect((await send('{"messages":[{"id":"q1","role":"user","parts":[]}]')).status).toBe(400);
    expect((await send('{"messages":[{"id":"q1","role":"user","content":"x"}]}')).body.code).toBe("INVALID_MESSAGE");
    const bytes = await ask("POST", "/v1/sessions/%FF%FE/messages", { json: { messages: [said("q1")] } });
    expect([bytes.status, bytes.body.code]).toEqual([400, "INVALID_ARGUMENT"]);
    const nul = await ask("POST", "/v1/sessions/a%00b/messages", { json: { messages: [said("q1")] } });
    expect([nul.status, nul.body.code]).toEqual([400, "INVALID_TEXT"]);
  });

  it("tells which methods there are, and what is nowhere", async () => {
    const { ask, send } = await serveRest();
    const refused = await ask("PUT", "/v1/sessions");
    expect([refused.status, refused.body.code]).toEqual([405, "METHOD_NOT_ALLOWED"]);
    expect(refused.headers.get("allow")).toBe("POST, GET");
    for (const path of ["/v1", "/v1/nothing", "/v1/sessions/a/b/c", "/v1/sessions//messages"]) {
      expect((await ask("GET", path)).body).toMatchObject({ status: 404, code: "NOT_FOUND" });
    }
    await ask("POST", "/v1/sessions", { json: { id: "query", name: "Query" } });
    expect((await ask("GET", "/v1/sessions/query")).body.name).toBe("Query");
    expect((await send("HEAD", "/v1/sessions/query")).status).toBe(200);
  });
});
