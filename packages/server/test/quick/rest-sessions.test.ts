import { describe, expect, it } from "vitest";
import { said, segmentOf, serveRest } from "./rest-helpers.js";

describe("REST: sessions", () => {
  it("registers a session once, reads and changes it", async () => {
    const { ask } = await serveRest();
    const made = await ask("POST", "/v1/sessions", { json: { id: "trip", name: "Trip", metadata: { topic: "a" } } });
    expect([made.status, made.body]).toMatchObject([
      201,
      { id: "trip", name: "Trip", parentSessionId: null, userId: null, metadata: { topic: "a" }, inputTokens: 0 },
    ]);
    expect((await ask("POST", "/v1/sessions", { json: { id: "trip", name: "Other" } })).status).toBe(200);
    const changed = await ask("PATCH", "/v1/sessions/trip", { json: { name: "Porto", metadata: { topic: null } } });
    expect(changed.body).toMatchObject({ name: "Porto", metadata: {} });
    const kept = await ask("PATCH", "/v1/sessions/trip", { json: { name: "Rome", expectedName: "Trip" } });
    expect(kept.body).toMatchObject({ name: "Porto" });
    const erased = await ask("DELETE", "/v1/sessions/trip");
    expect(erased.body).toMatchObject({ deleted: { sessions: 1 }, remaining: { sessions: 0 } });
    // What the pages of a database still hold, not each can tell.
    expect(erased.body.residue).toMatch(/^(none|unknown|pending)$/);
    for (const method of ["GET", "DELETE"]) {
      expect((await ask(method, "/v1/sessions/trip")).body).toMatchObject({ code: "SESSION_NOT_FOUND", status: 404 });
    }
  });

  it("reads no entry twice that did not change, and erases only what is as it was read", async () => {
    const { ask } = await serveRest();
    await ask("POST", "/v1/sessions", { json: { id: "trip", name: "Trip" } });
    const etag = (await ask("GET", "/v1/sessions/trip")).headers.get("etag") ?? "";
    const known = { headers: { "if-none-match": etag } };
    expect((await ask("GET", "/v1/sessions/trip", known)).status).toBe(304);
    await ask("POST", "/v1/sessions/trip/messages", { json: { messages: [said("q1")] } });
    expect((await ask("GET", "/v1/sessions/trip", known)).status).toBe(200);
    const erased = await ask("DELETE", "/v1/sessions/trip", { headers: { "if-match": etag } });
    expect([erased.status, erased.body.code]).toEqual([412, "SESSION_CONFLICT"]);
  });

  it("lists page by page in an order, and refuses the cursor of another list", async () => {
    const { ask } = await serveRest();
    for (const id of ["a", "b", "c", "d", "e"]) {
      await ask("POST", "/v1/sessions", { json: { id, name: `Chat ${id}`, metadata: { even: id < "c" } } });
    }
    const ids: string[] = [];
    let cursor = "";
    do {
      const { body } = await ask("GET", `/v1/sessions?order=registered&limit=2${cursor}`);
      ids.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
    } while (cursor !== "");
    expect(ids).toEqual(["e", "d", "c", "b", "a"]);
    const { nextCursor } = (await ask("GET", "/v1/sessions?order=registered&limit=2")).body;
    expect((await ask("GET", `/v1/sessions?order=registered&limit=3&cursor=${nextCursor}`)).body.data).toHaveLength(3);
    for (const query of ["", "order=change&", "order=registered&name=a&"]) {
      const refused = await ask("GET", `/v1/sessions?${query}cursor=${nextCursor}`);
      expect([query, refused.status, refused.body.code]).toEqual([query, 400, "INVALID_ARGUMENT"]);
    }
    expect((await ask("GET", "/v1/sessions?cursor=%00~")).status).toBe(400);
    const found = await ask("POST", "/v1/sessions/query", { json: { metadata: { even: true }, limit: 1 } });
    expect([found.body.data.length, typeof found.body.nextCursor]).toEqual([1, "string"]);
  });

  it("reaches a session by whatever id it has", async () => {
    const { ask } = await serveRest();
    for (const id of ["a/b", "a b?c#d&e", "~", "~x", ".", "..", "ä%2F", "%", "messages", "a\nb", "💬"]) {
      const path = `/v1/sessions/${segmentOf(id)}`;
      const written = await ask("POST", `${path}/messages`, { json: { messages: [said("q1", id)] } });
      expect([id, written.status]).toEqual([id, 200]);
      expect((await ask("GET", path)).body.id).toBe(id);
      expect((await ask("GET", `${path}/messages/q1`)).body.parts[0].text).toBe(id);
    }
    expect((await ask("POST", "/v1/sessions/~/messages", { json: { messages: [said("q1")] } })).status).toBe(200);
  });

  it("forks and splits", async () => {
    const { ask } = await serveRest();
    await ask("POST", "/v1/sessions/trip/messages", { json: { messages: [said("q1"), said("q2")] } });
    const fork = await ask("POST", "/v1/sessions/trip/fork", { json: { messageId: "q1", name: "Fork", id: "fork" } });
    expect([fork.status, fork.body.parentSessionId]).toEqual([201, "trip"]);
    expect((await ask("GET", "/v1/sessions/fork/messages")).body.data).toHaveLength(1);
    const split = await ask("POST", "/v1/sessions/trip/split", { json: { summary: "They chose Lisbon." } });
    expect(split.status).toBe(201);
    expect((await ask("GET", "/v1/sessions/trip")).body.endReason).toBe("compaction");
    const none = await ask("POST", "/v1/sessions/nowhere/fork", { json: { messageId: "q1", name: "Fork" } });
    expect([none.status, none.body.code]).toEqual([404, "SESSION_NOT_FOUND"]);
  });

  it("makes sessions of the key's user, and of no other", async () => {
    const { ask, keyOf } = await serveRest();
    const key = await keyOf({ userId: "ada" });
    expect((await ask("POST", "/v1/sessions", { key, json: { id: "a", name: "A" } })).body.userId).toBe("ada");
    expect((await ask("POST", "/v1/sessions", { key, json: { name: "A", userId: "bob" } })).status).toBe(403);
    expect((await ask("GET", "/v1/sessions?userId=bob", { key })).status).toBe(403);
    await ask("POST", "/v1/sessions", { json: { id: "b", name: "B", userId: "bob" } });
    const refused = await ask("POST", "/v1/sessions", { key, json: { id: "b", name: "B" } });
    expect([refused.status, refused.body.code]).toEqual([404, "SESSION_NOT_FOUND"]);
    expect((await ask("GET", "/v1/sessions", { key })).body.data).toHaveLength(1);
    expect((await ask("GET", "/v1/sessions?userId=bob")).body.data).toHaveLength(1);
    const taken = await ask("POST", "/v1/sessions", { json: { id: "b", name: "B", userId: "eve" } });
    expect([taken.status, taken.body.code]).toEqual([409, "SESSION_OWNED"]);
  });
});
