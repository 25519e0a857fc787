import { expect, expectError } from "../assert.js";
import { idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";

/** Updates of a session's metadata, and lists of sessions by it. */
export const metadata = defineTopic("metadata of sessions", (it) => {
  it("keeps a session's user and metadata, and changes no metadata but what an update names", async ({ manager }) => {
    const made = await manager.create("Chat", { id: "a", userId: "ada", metadata: { topic: "tea", n: 1, gone: null } });
    expect([made.user_id, made.metadata]).toEqual(["ada", { topic: "tea", n: 1 }]);
    const updated = await manager.update("a", { metadata: { n: null, tags: ["x"], deep: { a: 1, b: null } } });
    expect(updated.metadata).toEqual({ topic: "tea", tags: ["x"], deep: { a: 1, b: null } });
    expect([updated.name, updated.user_id]).toEqual(["Chat", "ada"]);
    const renamed = await manager.update("a", { name: "Tea", metadata: { deep: { c: 1 } } });
    expect([renamed.name, renamed.metadata]).toEqual(["Tea", { topic: "tea", tags: ["x"], deep: { c: 1 } }]);
    expect(await manager.get("a")).toEqual(renamed);
    expect((await manager.create("again", { id: "a", userId: "ada", metadata: { other: 1 } })).metadata).toEqual(
      renamed.metadata,
    );
  });

  it("keeps every field of updates that are made at the same time", async ({ manager }) => {
    await manager.create("Chat", { id: "a" });
    const fields = numbered("f", 20);
    await Promise.all(fields.map((field) => manager.update("a", { metadata: { [field]: field } })));
    expect((await manager.get("a"))?.metadata).toEqual(Object.fromEntries(fields.map((field) => [field, field])));
  });

  it("refuses metadata that is no object of JSON, and changes nothing", async ({ manager }) => {
    const before = await manager.create("Chat", { id: "a", metadata: { topic: "tea" } });
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    let deep: unknown = 1;
    for (let level = 0; level < 50; level += 1) deep = [deep];
    const given = ["text", [1], circle, { big: 1n }, { deep }, { text: "x".repeat(70_000) }] as unknown[];
    for (const metadata of given) {
      await expectError(manager.update("a", { metadata: metadata as Record<string, unknown> }), "INVALID_ARGUMENT");
      await expectError(
        manager.create("b", { id: "b", metadata: metadata as Record<string, unknown> }),
        "INVALID_ARGUMENT",
      );
    }
    for (const metadata of [{ a: "\0" }, { "\0": 1 }, { a: { b: ["\ud800"] } }]) {
      await expectError(manager.update("a", { metadata }), "INVALID_TEXT");
    }
    await expectError(manager.update("unknown", { metadata: {} }), "SESSION_NOT_FOUND");
    for (const userId of ["", "x".repeat(1000)]) {
      await expectError(manager.create("b", { userId }), "INVALID_ARGUMENT");
      await expectError(async () => manager.forUser(userId), "INVALID_ARGUMENT");
    }
    expect(await manager.get("a")).toEqual(before);
    expect(await manager.get("b")).toBe(null);
  });

  it("lists the sessions of a user, of a prefix and of metadata, page by page", async ({ manager }) => {
    const topics = ["tea", 'q"%_\\é.$', "5"];
    for (const [index, id] of numbered("chat-", 6).entries()) {
      await manager.create(id, {
        id,
        userId: index % 2 === 0 ? "ada" : "bob",
        metadata: { topic: topics[index % 3], n: index, even: index % 2 === 0, 'a"b.c': index === 0 ? 1.5 : "1.5" },
      });
    }
    await manager.create("of nobody", { id: "nobody%" });
    type Options = NonNullable<Parameters<typeof manager.listPage>[0]>;
    const found = async (options: Options) =>
      (await manager.listPage(options)).sessions.map(({ id }) => id.replace(/^chat-0+/, "")).sort();
    expect(await found({ userId: "ada" })).toEqual(["0", "2", "4"].map((n) => (n === "0" ? "" : n)));
    expect(await found({ userId: "Ada" })).toEqual([]);
    expect((await found({ idPrefix: "chat-" })).length).toBe(6);
    expect(await found({ idPrefix: "nobody%" })).toEqual(["nobody%"]);
    expect(await found({ idPrefix: "%" })).toEqual([]);
    expect(await found({ metadata: { topic: 'q"%_\\é.$' } })).toEqual(["1", "4"]);
    expect(await found({ metadata: { n: 5 } })).toEqual(["5"]);
    expect(await found({ metadata: { n: "5" } })).toEqual([]);
    expect(await found({ metadata: { topic: 5 } })).toEqual([]);
    expect(await found({ metadata: { 'a"b.c': 1.5 } })).toEqual([""]);
    expect(await found({ metadata: { even: true, topic: "5" } })).toEqual(["2"]);
    expect(await found({ metadata: { even: 1 } })).toEqual([]);
    expect(await found({ metadata: { topic: null } })).toEqual(["nobody%"]);
    expect(await found({ metadata: { topic: "tea" }, userId: "bob", idPrefix: "chat-" })).toEqual(["3"]);
    const pages: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await manager.listPage({ userId: "bob", limit: 2, cursor: cursor ?? null });
      pages.push(...page.sessions.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(pages.sort()).toEqual(["chat-000001", "chat-000003", "chat-000005"]);
    await expectError(manager.listPage({ metadata: { a: {} } as never }), "INVALID_ARGUMENT");
  });

  it(
    "searches the sessions with metadata, beside the filter of messages",
    ["search"],
    async ({ manager, sessionOf }) => {
      for (const id of ["work", "home"]) {
        await manager.create(id, { id, metadata: { place: id } });
        await sessionOf(id).appendAll([
          { ...message(`${id}-a`, "zebra"), metadata: { stars: 5 } },
          message(`${id}-b`, "zebra"),
        ]);
      }
      const found = async (options: object) => idsOf(await manager.search("zebra", options)).sort();
      expect(await found({ sessionMetadata: { place: "work" } })).toEqual(["work-a", "work-b"]);
      expect(await found({ sessionMetadata: { place: "home" }, metadata: { stars: 5 } })).toEqual(["home-a"]);
      expect(await found({ sessionMetadata: { place: null } })).toEqual([]);
      expect(await found({ sessionMetadata: { place: "work" }, sessionIds: ["home"] })).toEqual([]);
    },
  );
});
