import { describe, expect, it } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

const ALL = "/v1/sessions/chat/records";
const ONE = `${ALL}/notes/a`;

async function world() {
  const server = await serveRest();
  await server.ask("POST", "/v1/sessions", { json: { id: "chat", name: "A chat" } });
  const put = (path: string, json: object, headers = {}) => server.ask("PUT", path, { json, headers });
  return { ...server, put };
}

describe("REST: records", () => {
  it("keep any JSON, and bytes as they are", async () => {
    const { ask, put } = await world();
    for (const value of [null, 0, "", "text", [1, { a: null }], { é: "🌊" }, false]) {
      expect((await put(ONE, { value })).status).toBe(200);
      expect((await ask("GET", ONE)).body).toMatchObject({ key: "a", value, expiresAt: null });
    }
    const bytes = btoa(String.fromCharCode(0, 255, 254, 1));
    const made = await put(ONE, { bytes });
    expect(made.body).toEqual({ key: "a", bytes, version: made.body.version, expiresAt: null });
    // What others wrote as bytes may be JSON: it can be had as it was stored.
    const spaced = btoa('{ "a": 1 }');
    await put(ONE, { bytes: spaced });
    expect((await ask("GET", ONE)).body).toMatchObject({ value: { a: 1 } });
    expect((await ask("GET", `${ONE}?format=bytes`)).body).toMatchObject({ bytes: spaced });
    await put(`${ALL}/%2F/~`, { value: 1 });
    expect((await ask("GET", ALL)).body.data).toEqual([{ label: "/" }, { label: "notes" }]);
    const mark = btoa("\u00ef\u00bb\u00bf1");
    await put(ONE, { bytes: mark });
    expect((await ask("GET", ONE)).body.bytes).toBe(mark);
  });

  it("are replaced and deleted at the version whose tag is given, and in no other", async () => {
    const { ask, put, send } = await world();
    const first = await put(ONE, { value: 1 }, { "if-none-match": "*" });
    const tag = first.headers.get("etag") ?? "";
    expect([first.status, tag]).toEqual([200, `"v${first.body.version}"`]);
    expect((await put(ONE, { value: 2 }, { "if-none-match": "*" })).body.code).toBe("RECORD_CONFLICT");
    expect((await send("GET", ONE, { headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await put(ONE, { value: 2 }, { "if-match": tag })).status).toBe(200);
    const stale = await put(ONE, { value: 3 }, { "if-match": tag });
    expect([stale.status, stale.body.code]).toEqual([412, "RECORD_CONFLICT"]);
    expect((await ask("DELETE", ONE, { headers: { "if-match": tag } })).status).toBe(412);
    expect((await ask("DELETE", ONE)).status).toBe(204);
    const none = await ask("DELETE", ONE);
    expect([none.status, none.body.code, (await ask("GET", ONE)).body.code]).toEqual([404, "NOT_FOUND", "NOT_FOUND"]);
    // Of two who replace one version, one does.
    const again = (await put(ONE, { value: 0 })).headers.get("etag") ?? "";
    const both = await Promise.all([1, 2].map((value) => put(ONE, { value }, { "if-match": again })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it("are listed page by page, from both ends, by the beginning of their keys", async () => {
    const { ask, put } = await world();
    for (const key of ["a1", "a2", "a3", "b1"]) await put(`${ALL}/notes/${key}`, { value: key });
    const keysOf = async (query: string) => {
      const keys: string[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await ask("GET", `${ALL}/notes?limit=2${query}${cursor}`);
        keys.push(...body.data.map(({ key }: { key: string }) => key));
        if (body.nextCursor === null) return keys;
        cursor = `&cursor=${body.nextCursor}`;
      }
    };
    expect(await keysOf("")).toEqual(["a1", "a2", "a3", "b1"]);
    expect(await keysOf("&prefix=a&descending=true")).toEqual(["a3", "a2", "a1"]);
    const { body } = await ask("GET", `${ALL}/notes?limit=2`);
    expect((await ask("GET", `${ALL}/notes?limit=2&prefix=a&cursor=${body.nextCursor}`)).status).toBe(400);
    expect((await ask("GET", `${ALL}/none`)).body).toEqual({ data: [], nextCursor: null });
    expect((await ask("GET", "/v1/sessions/none/records/notes")).body.code).toBe("SESSION_NOT_FOUND");
  });

  it("expire, and go with their session", async () => {
    const { ask, put } = await world();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    expect((await put(ONE, { value: 1, expiresAt })).body.expiresAt).toBe(expiresAt);
    await put(`${ALL}/notes/b`, { value: 1, expiresAt: "2020-01-01T00:00:00Z" });
    expect((await ask("GET", `${ALL}/notes`)).body.data).toHaveLength(1);
    await ask("DELETE", "/v1/sessions/chat");
    expect((await ask("GET", ONE)).body.code).toBe("SESSION_NOT_FOUND");
  });

  it("are refused where they are the server's, of no session for a user, or no record", async () => {
    const { ask, put, keyOf, errors } = await world();
    for (const label of ["stemma:keys", "stemma:tokens", "stemma:tenants", "stemma:x"]) {
      for (const session of ["~", "chat"]) {
        const path = `/v1/sessions/${session}/records/${encodeURIComponent(label)}`;
        expect((await ask("GET", path)).body.code).toMatch(/FORBIDDEN|SESSION_NOT_FOUND/);
        expect((await put(`${path}/a`, { value: 1 })).body.code).toBe("FORBIDDEN");
        expect((await ask("DELETE", `${path}/a`)).body.code).toBe("FORBIDDEN");
        const write = { op: "setRecord", session: session === "~" ? "" : session, label, key: "a", value: 1 };
        expect((await ask("POST", "/v1/batch", { json: { operations: [write] } })).body.code).toBe("FORBIDDEN");
      }
    }
    const ada = await keyOf({ userId: "ada" });
    for (const path of ["/v1/sessions/~/records", "/v1/sessions/~/records/notes/a"]) {
      expect((await ask("GET", path, { key: ada })).body.code).toBe("FORBIDDEN");
    }
    for (const json of [
      {},
      { value: 1, bytes: "" },
      { bytes: "%" },
      { value: 1, expiresAt: "soon" },
      { value: 1, x: 1 },
    ]) {
      expect((await put(ONE, json)).body.code).toBe("INVALID_ARGUMENT");
    }
    expect(errors).toEqual([]);
  });
});

describe("REST: batches", () => {
  const batch = (server: Awaited<ReturnType<typeof world>>, operations: unknown[], sent = {}) =>
    server.ask("POST", "/v1/batch", { json: { operations }, ...sent });

  it("makes all writes, and tells which messages came", async () => {
    const server = await world();
    const { ask, keyOf } = server;
    const key = await keyOf({ userId: "ada" });
    const { status, body } = await batch(
      server,
      [
        { op: "appendMessages", session: "hers", messages: [said("m1"), said("m2")] },
        { op: "putMessage", session: "hers", message: said("m2", "changed") },
        { op: "setLeaf", session: "hers", messageId: "m1", expectedLeaf: "m2" },
        { op: "setBlock", owner: "user", label: "notes", content: "block" },
        { op: "setEntry", owner: "user:ada", label: "facts", key: "f", content: "entry", value: { a: 1 }, tags: ["t"] },
        { op: "setRecord", session: "hers", label: "state", key: "k", value: [1], expectedVersion: 0 },
        { op: "updateSession", session: "hers", name: "Hers", metadata: { a: 1 } },
        { op: "addUsage", session: "hers", inputTokens: 3, outputTokens: 4, model: "m" },
      ],
      { key },
    );
    expect([status, body]).toEqual([200, { ids: [["m1", "m2"], [], ["m1"], [], [], [], [], []] }]);
    const read = async (path: string) => (await ask("GET", path, { key })).body;
    expect(await read("/v1/sessions/hers/leaf")).toEqual({ messageId: "m1" });
    expect((await read("/v1/sessions/hers/messages/m2")).parts).toEqual(said("m2", "changed").parts);
    expect((await read("/v1/memory/user/blocks/notes")).content).toBe("block");
    expect(await read("/v1/memory/user/entries/facts/f")).toMatchObject({ value: { a: 1 }, tags: ["t"] });
    expect((await read("/v1/sessions/hers/records/state/k")).value).toEqual([1]);
    expect(await read("/v1/sessions/hers")).toMatchObject({ name: "Hers", inputTokens: 3, userId: "ada" });
    const left = [
      { op: "deleteEntry", owner: "user", label: "facts", key: "f", expectedContent: "entry" },
      { op: "deleteRecord", session: "hers", label: "state", key: "k" },
    ];
    expect((await batch(server, left, { key })).status).toBe(200);
    expect((await read("/v1/sessions/hers/records")).data).toEqual([]);
    // A backend's is made as the user.
    const writes = [
      { op: "appendMessages", session: "new", messages: [said("n1")] },
      { op: "setBlock", owner: "user:ada", label: "notes", content: "by a backend", expectedVersion: 1 },
    ];
    expect((await batch(server, writes)).body).toEqual({ ids: [["n1"], []] });
    expect((await ask("GET", "/v1/sessions/new")).body.userId).toBe("ada");
  });

  it("makes none where one is refused, or another one was faster", async () => {
    const server = await world();
    const { ask, keyOf } = server;
    await ask("PUT", "/v1/memory/session%3Achat/blocks/notes", { json: { content: "first" } });
    const good = { op: "appendMessages", session: "chat", messages: [said("m1")] };
    const key = await keyOf({ userId: "ada" });
    await ask("POST", "/v1/sessions", { key, json: { id: "hers", name: "x" } });
    for (const [bad, code] of [
      [{ op: "setBlock", owner: "session:chat", label: "notes", content: "x", expectedVersion: 7 }, "BLOCK_CONFLICT"],
      [
        { op: "setEntry", owner: "session:chat", label: "e", key: "k", content: "x", expectedContent: "y" },
        "ENTRY_CONFLICT",
      ],
      [{ op: "setRecord", session: "chat", label: "r", key: "k", value: 1, expectedVersion: 3 }, "RECORD_CONFLICT"],
      [{ op: "setLeaf", session: "chat", messageId: "none" }, "MESSAGE_NOT_FOUND"],
      [{ op: "updateSession", session: "none", name: "x" }, "SESSION_NOT_FOUND"],
      [{ op: "appendMessages", session: "other", messages: [said("m1")] }, "INVALID_ARGUMENT"],
      // Where each user has a database, each key is a user's.
      ...(server.store === undefined
        ? []
        : [[{ op: "setBlock", owner: "user", label: "b", content: "x" }, "INVALID_ARGUMENT"] as const]),
      [{ op: "appendMessages", session: "chat", messages: [{ id: "m", role: "user" }] }, "INVALID_MESSAGE"],
      [{ op: "deleteEverything" }, "INVALID_ARGUMENT"],
      [{ op: "setBlock", owner: "session:chat", label: "b", content: "x", y: 1 }, "INVALID_ARGUMENT"],
    ] as const) {
      expect([bad, (await batch(server, [good, bad])).body.code]).toEqual([bad, code]);
    }
    const two = ["user:ada", "user:bob"].map((owner) => ({ op: "setBlock", owner, label: "b", content: "x" }));
    expect((await batch(server, two)).body).toMatchObject({ code: "INVALID_ARGUMENT", details: { other: "bob" } });
    expect((await batch(server, two.slice(1), { key })).body.code).toBe("FORBIDDEN");
    // Another's session, and one that is not there; where each user has a database, all that is there is theirs.
    for (const session of server.store === undefined ? ["none"] : ["chat", "none"]) {
      const parent = { op: "appendMessages", session, messages: [said("m9")], parent: "none" };
      expect((await batch(server, [parent], { key })).body.code).toBe("SESSION_NOT_FOUND");
    }
    expect((await ask("GET", "/v1/sessions/chat/messages")).body.data).toEqual([]);
    expect((await batch(server, [])).status).toBe(400);
    const many = Array.from({ length: 1_001 }, (_, n) => ({
      op: "setRecord",
      session: "chat",
      label: "r",
      key: `${n}`,
      value: n,
    }));
    expect((await batch(server, many)).status).toBe(400);
    expect((await batch(server, many.slice(1))).status).toBe(200);
    const large = [{ op: "setBlock", owner: "session:chat", label: "b", content: "x".repeat(8_388_608) }];
    expect((await batch(server, large)).status).toBe(413);
    expect(server.errors).toEqual([]);
  });

  it("is made once with one Idempotency-Key", async () => {
    const server = await world();
    const write = (key: string) => ({
      op: "setRecord",
      session: "chat",
      label: "r",
      key,
      value: 1,
      expectedVersion: 0,
    });
    const send = (operations: unknown[]) => batch(server, operations, { headers: { "idempotency-key": "k1" } });
    const [one, two] = [await send([write("a"), write("b")]), await send([write("a"), write("b")])];
    expect([one.status, two.status, two.body]).toEqual([200, 200, one.body]);
    expect((await send([write("b")])).body.code).toBe("OPERATION_CONFLICT");
  });

  it("counts as many writes as it has operations", async () => {
    const server = await world();
    const key = await server.keyOf({ quota: { writesPerDay: 5 } });
    const writes = Array.from({ length: 4 }, (_, n) => ({
      op: "setRecord",
      session: "chat",
      label: "s",
      key: `${n}`,
      value: n,
    }));
    expect((await batch(server, writes, { key })).status).toBe(200);
    expect((await batch(server, writes.slice(2), { key })).body.code).toBe("QUOTA_EXCEEDED");
    expect((await batch(server, writes.slice(3), { key })).status).toBe(200);
  });
});
