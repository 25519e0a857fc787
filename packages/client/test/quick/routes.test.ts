import { readFileSync } from "node:fs";
import { memory } from "@stemma/store/memory";
import { sqlite } from "@stemma/store/sqlite";
import { describe, expect, it } from "vitest";
import { CLIENT_TYPES, clientTypes } from "../../../../scripts/client-types.mjs";
import { isRead } from "../../src/request.js";
import { all, HOST, said, served } from "./helpers.js";

const document = JSON.parse(readFileSync(new URL("../../../server/openapi.json", import.meta.url), "utf8"));
const routes = Object.entries<Record<string, { "x-access": string }>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(
    ([method, { "x-access": access }]) => [`${method.toUpperCase()} ${path}`, access] as const,
  ),
);

it("the types are those of the document: node scripts/client-types.mjs", () => {
  expect(readFileSync(CLIENT_TYPES, "utf8")).toBe(clientTypes());
});

it("knows of each route whether it only reads", () => {
  expect(routes.filter(([route, access]) => isRead(route) !== (access === "read"))).toEqual([]);
});

describe.each([
  ["memory", () => memory()],
  ["sqlite", () => sqlite(":memory:")],
])("a client of a server on %s", (_, open) => {
  it("calls every route", async () => {
    const { clientOf, client, seen, store } = await served(open(), {
      sessions: (sessions) =>
        sessions
          .withContext("notes", { description: "Notes", maxTokens: 500 })
          .onCompaction(async (messages) => ({
            summary: "Ferry.",
            fromMessageId: messages[0]?.id ?? "",
            toMessageId: messages[1]?.id ?? "",
          }))
          .onLearning(async () => []),
    });

    expect(
      await client.sessions.create({ name: "Trip", id: "trip", userId: "ada", metadata: { place: "Oslo" } }),
    ).toMatchObject({
      id: "trip",
      userId: "ada",
    });
    expect((await client.sessions.list({ prefix: "tr" })).data).toMatchObject([{ id: "trip" }]);
    expect(await all(client.sessions.query({ metadata: { place: "Oslo" } }))).toMatchObject([{ id: "trip" }]);
    const entry = await client.sessions.get("trip");
    await client.sessions.update("trip", { name: "Ferry" }, { ifMatch: client.tagOf(entry) });
    await expect(
      client.sessions.update("trip", { name: "No" }, { ifMatch: client.tagOf(entry) }),
    ).rejects.toMatchObject({
      code: "SESSION_CONFLICT",
      details: { status: 412, sessionId: "trip", requestId: expect.any(String) },
    });

    const words = ["q1", "a1", "q2", "a2"].map((id) => said(id, `${id} ferry`));
    expect(await client.messages.append("trip", words, { expectedLeaf: null })).toEqual({
      insertedIds: ["q1", "a1", "q2", "a2"],
    });
    expect((await client.messages.append("trip", said("q1"))).insertedIds).toEqual([]);
    await expect(client.messages.append("trip", said("x"), { expectedLeaf: "q1" })).rejects.toMatchObject({
      code: "LEAF_MOVED",
    });
    expect((await all(client.messages.list("trip", { limit: 1 }))).map(({ id }) => id)).toEqual([
      "q1",
      "a1",
      "q2",
      "a2",
    ]);
    expect(await client.messages.list("trip", { maxBytes: 1 })).toMatchObject({
      data: [{ id: "a2" }],
      truncated: true,
    });
    expect((await all(client.messages.stream("trip", { order: "desc" }))).map(({ id }) => id)).toEqual([
      "a2",
      "q2",
      "a1",
      "q1",
    ]);
    expect((await client.messages.get("trip", "q1", { createdAt: true })).createdAt).toEqual(expect.any(String));
    expect(await client.messages.put("trip", said("a2", "changed"))).toEqual({ inserted: false });
    expect(await client.messages.edit("trip", "q2", said("q3", "ferry"))).toEqual({ inserted: true });
    expect((await client.messages.siblings("trip", "q2")).data.map(({ id }) => id)).toEqual(["q2", "q3"]);
    expect((await client.messages.children("trip", "a1")).data.map(({ id }) => id)).toEqual(["q2", "q3"]);
    expect((await client.messages.parent("trip", "a1")).parent?.id).toBe("q1");
    expect(await client.messages.parent("trip", "q1")).toEqual({ parent: null });
    expect((await client.messages.writes("trip", "q1")).data).toEqual([]);

    expect((await all(client.tree.list("trip", { limit: 2 }))).length).toBe(5);
    expect((await all(client.tree.stream("trip"))).map(({ id }) => id)).toContain("a2");
    expect(await client.tree.leaf("trip")).toEqual({ messageId: "q3" });
    expect(await client.tree.select("trip", "q2")).toEqual({ messageId: "a2" });
    expect(await client.tree.setLeaf("trip", "q3", { expectedLeaf: "a2" })).toEqual({ messageId: "q3" });
    await client.tree.rewind("trip", "a2");

    const compaction = await client.compactions.create("trip", {
      summary: "Hello.",
      fromMessageId: "q1",
      toMessageId: "a1",
    });
    expect((await client.compactions.list("trip")).data).toEqual([compaction]);
    expect((await client.compactions.originals("trip", compaction.id)).data.map(({ id }) => id)).toEqual(["q1", "a1"]);
    await client.compactions.delete("trip", compaction.id);
    await client.compactions.compact("trip");

    const block = await client.memory.blocks.set("user:ada", "notes", "Likes the sea.", { ifNoneMatch: "*" });
    expect(block).toMatchObject({ content: "Likes the sea.", version: 1 });
    await client.memory.blocks.append("user:ada", "notes", { append: "And ferries.", maxTokens: 100 });
    await expect(
      client.memory.blocks.set("user:ada", "notes", "x", { ifMatch: client.tagOf(block) }),
    ).rejects.toMatchObject({ code: "BLOCK_CONFLICT" });
    expect((await client.memory.blocks.get("user:ada", "notes")).content).toContain("ferries");
    expect((await all(client.memory.blocks.list("user:ada"))).map(({ label }) => label)).toEqual(["notes"]);
    expect((await client.memory.blocks.versions("user:ada", "notes")).data.length).toBe(2);
    expect((await client.memory.blocks.restore("user:ada", "notes", 1)).content).toBe("Likes the sea.");

    await client.memory.entries.set("user:ada", "facts", "sea", { content: "Ada likes ferries.", tags: ["sea"] });
    await client.memory.entries.append("user:ada", "facts", "sea", { append: "A lot.", maxTokens: 100 });
    expect((await client.memory.entries.labels("user:ada")).data).toEqual([{ label: "facts", count: 1 }]);
    expect((await all(client.memory.entries.list("user:ada", "facts"))).map(({ key }) => key)).toEqual(["sea"]);
    expect((await all(client.memory.entries.query("user:ada", "facts", { filter: { tags: ["sea"] } }))).length).toBe(1);
    expect(await client.memory.entries.search("user:ada", "facts", "ferries")).toMatchObject({
      data: [{ key: "sea" }],
    });
    expect((await client.memory.entries.get("user:ada", "facts", "sea")).content).toContain("A lot.");
    expect((await client.memory.entries.versions("user:ada", "facts", "sea")).data.length).toBe(2);
    expect((await client.memory.entries.restore("user:ada", "facts", "sea", 1)).content).toBe("Ada likes ferries.");

    const record = await client.records.set("trip", "state", "step", { value: { n: 1 } }, { ifNoneMatch: "*" });
    expect(await client.records.get("trip", "state", "step")).toEqual(record);
    await expect(client.records.set("trip", "state", "step", { value: 2 }, { ifMatch: '"v0"' })).rejects.toMatchObject({
      code: "RECORD_CONFLICT",
    });
    expect(
      await client.batch([{ op: "setRecord", session: "trip", label: "state", key: "raw", bytes: "AP8=" }]),
    ).toEqual({
      ids: [[]],
    });
    expect((await all(client.records.list("trip", "state", { prefix: "r" }))).map(({ bytes }) => bytes)).toEqual([
      "AP8=",
    ]);
    for (const missing of [
      client.records.get("trip", "state", "none"),
      client.records.delete("trip", "state", "none"),
    ]) {
      await expect(missing).rejects.toMatchObject({ code: "NOT_FOUND", details: { status: 404 } });
    }
    expect((await client.records.labels("trip")).data).toContainEqual({ label: "state" });
    await client.records.delete("trip", "state", "raw", { ifMatch: "*" });

    const found = await client.search("ferry", { owners: ["user:ada"] });
    expect(found.data.length).toBeGreaterThan(0);
    expect((await client.search("ferries", { owners: ["user:ada"] })).entries).toMatchObject([{ key: "sea" }]);
    expect(await client.recall("ferries", { userId: "ada" })).toMatchObject({ text: expect.any(String) });

    expect(await client.turns.prepare("trip")).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "set_context" })]),
    });
    expect(
      await client.turns.runTool("trip", "set_context", { input: { label: "notes", content: "Window seat." } }),
    ).toEqual({ output: expect.any(String) });
    expect(await client.turns.learn("trip")).toMatchObject({ failed: null });

    await client.usage.add("trip", { inputTokens: 3, outputTokens: 4, model: "m" });
    expect((await client.usage.list("trip")).data).toMatchObject([{ model: "m", inputTokens: 3 }]);
    expect((await client.usage.sum({ by: "model" })).data).toMatchObject([{ name: "m", outputTokens: 4 }]);

    const file = (await all(client.sessions.export("trip"))).join("");
    expect((await all(client.sessions.export("trip", { format: "markdown" }))).join("")).toContain("ferry");
    expect((await client.sessions.import("copy", file)).inserted).toBe(5);
    expect((await client.sessions.import("streamed", new Blob([file]).stream())).inserted).toBe(5);
    expect((await client.sessions.fork("trip", { messageId: "q1", name: "Fork", id: "fork" })).parentSessionId).toBe(
      "trip",
    );
    expect((await client.sessions.split("fork", { summary: "Hello." })).parentSessionId).toBe("fork");

    expect(await client.messages.delete("trip", ["q3", "none"])).toEqual({ deletedIds: ["q3"] });
    await client.messages.clear("trip");
    await client.memory.entries.delete("user:ada", "facts", "sea", { keepVersions: false });
    await client.memory.blocks.delete("user:ada", "notes");
    expect(await client.memory.delete("user:ada")).toMatchObject({ remaining: { blocks: 0 } });
    expect(await client.limits()).toMatchObject({ maxLimit: 200 });
    expect(await client.quota()).toEqual({ data: [], nextCursor: null });

    const { token } = await client.createToken({ userId: "ada", ttl: 60 });
    const ada = clientOf({ apiKey: undefined, token: async () => token });
    const leave = new AbortController();
    const [heard, one] = [client.changes({}, { signal: leave.signal }), ada.changes({ session: "trip" })];
    const next = Promise.all([heard.next(), one.next()]);
    // Both look at what there is before anything changes.
    await expect.poll(() => seen.filter(({ url }) => url.includes("/changes")).length).toBe(2);
    await new Promise((done) => setTimeout(done, 200));
    await ada.messages.append("trip", said("news"));
    expect(await next).toMatchObject([{ value: { session: "trip" } }, { value: { session: "trip", kind: "changed" } }]);
    await Promise.all([heard.return(undefined), one.return(undefined)]);

    await client.sessions.delete("copy");
    await client.eraseUser("ada");
    expect(await store.sessions.get("trip")).toBeNull();

    const called = new Set(seen.map(({ method, url }) => `${method} ${new URL(url).pathname}`));
    const missed = routes.filter(([route]) => ![...called].some((each) => patternOf(route).test(each)));
    // Keys are for administrators, whom 5 kB do not hold. Of the others, the one for several ids does as well.
    const left = missed.map(([route]) => route).filter((route) => !route.includes("/v1/keys"));
    expect(left).toEqual(["DELETE /v1/sessions/{session}/messages/{message}"]);
    expect([...called].every((each) => routes.some(([route]) => patternOf(route).test(each)))).toBe(true);
    expect(HOST).toBe("https://memory.example.com");
  });
});

// A name in braces is no word that another route has in its place.
function patternOf(route: string): RegExp {
  return new RegExp(`^${route.replace(/\{\w+\}/g, "(?!query$|search$)[^/]+")}$`);
}
