import { describe, expect, it } from "vitest";
import { said, serveRest } from "./rest-helpers.js";

describe("REST: blocks", () => {
  it("replaces the version whose tag is given, appends, restores and erases", async () => {
    const { ask } = await serveRest();
    const path = "/v1/memory/user%3Aada/blocks/about%2Fme";
    const put = (content: string, headers = {}) => ask("PUT", path, { json: { content }, headers });
    expect((await ask("GET", path)).body).toMatchObject({ status: 404, code: "BLOCK_NOT_FOUND" });
    expect((await put("x", { "if-match": '"v1"' })).body).toMatchObject({ status: 412, code: "BLOCK_CONFLICT" });
    expect((await put("x", { "if-match": "*" })).status).toBe(412);
    const made = await put("Likes tea.", { "if-none-match": "*" });
    expect([made.body, made.headers.get("etag")]).toEqual([
      { label: "about/me", content: "Likes tea.", version: 1 },
      '"v1"',
    ]);
    expect((await put("x", { "if-none-match": "*" })).status).toBe(412);
    expect((await put("Likes coffee.", { "if-match": 'W/"v1"' })).body.version).toBe(2);
    expect((await put("x", { "if-match": '"v1", "v9"' })).status).toBe(412);
    expect((await put("x", { "if-match": '"nonsense"' })).status).toBe(412);
    const appended = await ask("PATCH", path, { json: { append: "And cake.", maxTokens: 100 } });
    expect(appended.body).toMatchObject({ content: "Likes coffee.\nAnd cake.", version: 3 });
    const over = await ask("PATCH", path, { json: { append: "And cake.", maxTokens: 1 } });
    expect([over.status, over.body.code]).toEqual([422, "BLOCK_OVER_BUDGET"]);
    const restored = await ask("POST", `${path}/restore`, { json: { version: 1 } });
    expect(restored.body).toMatchObject({ content: "Likes tea.", version: 4 });
    expect((await ask("POST", `${path}/restore`, { json: { version: 99 } })).body.code).toBe("VERSION_NOT_FOUND");
    const versions = await ask("GET", `${path}/versions`);
    expect(versions.body.data.map(({ version }: { version: number }) => version)).toEqual([4, 3, 2, 1]);
    expect((await ask("GET", path, { headers: { "if-none-match": '"v4"' } })).status).toBe(304);
    expect((await ask("DELETE", path, { headers: { "if-match": '"v1"' } })).status).toBe(412);
    expect((await ask("DELETE", path)).status).toBe(204);
    expect((await ask("DELETE", path)).status).toBe(404);
  });

  it("lists the blocks of an owner page by page", async () => {
    const { ask } = await serveRest();
    for (const label of ["a", "b", "c"])
      await ask("PUT", `/v1/memory/key%3Ateam/blocks/${label}`, { json: { content: label } });
    const first = await ask("GET", "/v1/memory/key%3Ateam/blocks?limit=2");
    expect(first.body.data).toMatchObject([{ label: "a", content: "a", version: 1 }, { label: "b" }]);
    const second = await ask("GET", `/v1/memory/key%3Ateam/blocks?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ data: [{ label: "c" }], nextCursor: null });
    expect((await ask("GET", `/v1/memory/key%3Aothers/blocks?cursor=${first.body.nextCursor}`)).status).toBe(400);
    const erased = await ask("DELETE", "/v1/memory/key%3Ateam");
    expect(erased.body).toMatchObject({ deleted: { blocks: 3 }, remaining: { blocks: 0 } });
    for (const owner of ["user", "nobody", "key", "session"]) {
      expect((await ask("GET", `/v1/memory/${owner}/blocks`)).body).toMatchObject({
        status: 400,
        code: "INVALID_ARGUMENT",
      });
    }
  });
});

describe("REST: entries", () => {
  const path = "/v1/memory/user/entries/facts";

  it("writes, finds, ends and restores them", async () => {
    const { ask, keyOf } = await serveRest();
    const key = await keyOf({ userId: "ada" });
    const put = (name: string, json: object, headers = {}) => ask("PUT", `${path}/${name}`, { key, json, headers });
    const made = await put(
      "home",
      { content: "Lives in Rome.", tags: ["place"], value: { city: "Rome" } },
      { "if-none-match": "*" },
    );
    expect(made.body).toMatchObject({
      key: "home",
      content: "Lives in Rome.",
      tags: ["place"],
      value: { city: "Rome" },
    });
    const etag = made.headers.get("etag") ?? "";
    expect((await put("home", { content: "x" }, { "if-none-match": "*" })).body).toMatchObject({
      status: 412,
      code: "ENTRY_CONFLICT",
    });
    const changed = await put("home", { content: "Lives in Porto.", value: { city: "Porto" } }, { "if-match": etag });
    expect(changed.body).toMatchObject({ content: "Lives in Porto.", tags: ["place"] });
    expect((await put("home", { content: "x" }, { "if-match": etag })).body.code).toBe("ENTRY_CONFLICT");
    const headers = { "if-none-match": changed.headers.get("etag") ?? "" };
    expect((await ask("GET", `${path}/home`, { key, headers })).status).toBe(304);
    expect((await put("home", { content: "x", origin: "rumour" })).body.detail).toContain('"origin"');
    await put("work", { content: "Works on ferries.", tags: ["job"] });
    const listed = await ask("GET", `${path}?limit=1`, { key });
    expect(listed.body.data).toMatchObject([{ key: "home" }]);
    expect((await ask("GET", `${path}?limit=1&cursor=${listed.body.nextCursor}`, { key })).body).toMatchObject({
      data: [{ key: "work" }],
      nextCursor: null,
    });
    const tagged = await ask("POST", `${path}/query`, { key, json: { filter: { tags: ["job"] } } });
    expect(tagged.body.data).toMatchObject([{ key: "work" }]);
    const found = await ask("POST", `${path}/search`, { key, json: { query: "Porto" } });
    expect(found.body.data).toMatchObject([{ key: "home", score: expect.any(Number) }]);
    expect((await ask("GET", "/v1/memory/user/entries", { key })).body.data).toEqual([{ label: "facts", count: 2 }]);
    const appended = await ask("PATCH", `${path}/work`, { key, json: { append: "And boats.", maxTokens: 100 } });
    expect(appended.body.content).toBe("Works on ferries.\nAnd boats.");
    expect((await ask("DELETE", `${path}/home`, { key, headers: { "if-match": '"old"' } })).status).toBe(412);
    expect((await ask("DELETE", `${path}/home`, { key })).status).toBe(204);
    expect((await ask("DELETE", `${path}/home`, { key })).body).toMatchObject({ status: 404, code: "ENTRY_NOT_FOUND" });
    const versions = await ask("GET", `${path}/home/versions`, { key });
    expect(versions.body.data).toMatchObject([
      { content: null },
      { content: "Lives in Porto." },
      { content: "Lives in Rome." },
    ]);
    const restored = await ask("POST", `${path}/home/restore`, { key, json: { version: 1 } });
    expect(restored.body).toMatchObject({ content: "Lives in Rome.", tags: ["place"] });
    await ask("DELETE", `${path}/home?keepVersions=false`, { key });
    expect((await ask("GET", `${path}/home/versions`, { key })).status).toBe(404);
  });
});

describe("REST: search, recall and erasure", () => {
  it("finds messages and entries of whoever asks, and recalls them", async () => {
    const { ask, keyOf } = await serveRest();
    const [ada, bob] = [await keyOf({ userId: "ada" }), await keyOf({ userId: "bob" })];
    for (const [key, id] of [
      [ada, "a"],
      [bob, "b"],
    ] as const) {
      const messages = [said(`${id}1`, `The ferry to Lisbon, says ${id}`), said(`${id}2`, "At noon.", "assistant")];
      await ask("POST", `/v1/sessions/${id}/messages`, { key, json: { messages } });
      await ask("PUT", "/v1/memory/user/entries/facts/boat", { key, json: { content: `The ferry of ${id}` } });
    }
    const found = await ask("POST", "/v1/search", { key: ada, json: { query: "ferry", context: 1 } });
    expect(found.body).toMatchObject({
      data: [{ sessionId: "a", id: "a1", context: { after: [{ id: "a2" }] } }],
      entries: [{ owner: "user", label: "facts", key: "boat", content: "The ferry of a" }],
      nextCursor: null,
    });
    const all = await ask("POST", "/v1/search", {
      json: { query: "ferry", limit: 1, owners: ["user:ada", "user:bob"] },
    });
    expect([all.body.data.length, all.body.entries.length]).toEqual([1, 1]);
    const json = { query: "ferry", limit: 1, owners: ["user:ada", "user:bob"], cursor: all.body.nextCursor };
    expect((await ask("POST", "/v1/search", { json })).body).toMatchObject({
      data: [{}],
      entries: [],
      nextCursor: null,
    });
    expect((await ask("POST", "/v1/search", { key: ada, json: { query: "ferry", owners: ["user:bob"] } })).status).toBe(
      403,
    );
    const recalled = await ask("POST", "/v1/recall", {
      key: ada,
      json: { query: "When does the ferry to Lisbon go?" },
    });
    expect(recalled.body.text).toContain("The ferry of a");
    expect(recalled.body.text).not.toContain("says b");
    const inChat = await ask("POST", "/v1/recall", { json: { query: "the ferry", sessionId: "b", userId: "bob" } });
    expect((await ask("POST", "/v1/recall", { json: { query: "the ferry" } })).body.code).toBe("USER_REQUIRED");
    expect(inChat.body.text).toContain("The ferry of b");
  });

  it("erases all of a user, and nothing of another one", async () => {
    const { ask, keyOf } = await serveRest();
    const ada = await keyOf({ userId: "ada" });
    await ask("POST", "/v1/sessions/a/messages", { key: ada, json: { messages: [said("q1")] } });
    await ask("PUT", "/v1/memory/user/blocks/about", { key: ada, json: { content: "x" } });
    expect((await ask("DELETE", "/v1/users/bob", { key: ada })).body).toMatchObject({ status: 403, code: "FORBIDDEN" });
    const erased = await ask("DELETE", "/v1/users/ada");
    expect(erased.body).toMatchObject({ deleted: { sessions: 1, messages: 1, blocks: 1 }, remaining: { blocks: 0 } });
    expect((await ask("GET", "/v1/sessions/a")).status).toBe(404);
    expect((await ask("DELETE", "/v1/users/ada", { key: ada })).body.deleted.sessions).toBe(0);
  });
});
