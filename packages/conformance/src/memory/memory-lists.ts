import { expect } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

/** Lists of memory: by whose it is, and by the message that it comes from. */
export const memoryLists = defineTopic("memory lists", (it) => {
  it("lists the blocks of a session, of its user and of a key, each apart", async ({ store }) => {
    const [ada, bob] = [store.forUser("ada"), store.forUser("bob")];
    await ada.session("main").append([message("a")]);
    await store.blocks.set({ sessionId: "main", kind: "block", label: "b" }, "second");
    await store.blocks.set({ sessionId: "main", kind: "block", label: "B" }, "first");
    await store.blocks.set({ sessionId: "main", kind: "prompt", label: "" }, "no block");
    await ada.blocks.set({ sessionId: "main", kind: "block", label: "memory", scope: "user" }, "Ada's");
    await bob.blocks.set({ sessionId: "", kind: "block", label: "memory", scope: "user" }, "Bob's");
    await store.blocks.set({ sessionId: "main", kind: "block", label: "rules", scope: { key: "team-7" } }, "shared");
    const own = await store.blocks.list({ sessionId: "main" });
    expect(own.map(({ label, content, version }) => [label, content, version])).toEqual([
      ["B", "first", 1],
      ["b", "second", 1],
    ]);
    for (const { updatedAt } of own) expect(new Date(updatedAt).toISOString()).toBe(updatedAt);
    const texts = async (blocks: Promise<{ content: string }[]>) => (await blocks).map(({ content }) => content);
    expect(await texts(store.blocks.list({ sessionId: "main", scope: "user" }))).toEqual(["Ada's"]);
    expect(await texts(bob.blocks.list({ sessionId: "", scope: "user" }))).toEqual(["Bob's"]);
    expect(await texts(store.blocks.list({ sessionId: "", scope: { key: "team-7" } }))).toEqual(["shared"]);
    expect(await texts(store.blocks.list({ sessionId: "none" }))).toEqual([]);
  });

  it("lists entries by label, in the order of their keys, page by page", async ({ store }) => {
    const facts = { sessionId: "main", label: "facts" };
    expect(await store.entries.labels({ sessionId: "main" })).toEqual([]);
    for (const key of ["b", "a/2", "Z", "a/1", "ä"]) await store.entries.set(facts, { key, content: `of ${key}` });
    await store.entries.set({ sessionId: "main", label: "Notes" }, { key: "n", content: "n" });
    await store.entries.set({ sessionId: "main", label: "facts", scope: { key: "k" } }, { key: "n", content: "n" });
    const keys = async (options: Parameters<typeof store.entries.list>[1]) =>
      (await store.entries.list(facts, options)).map(({ key }) => key);
    expect(await store.entries.labels({ sessionId: "main" })).toEqual([
      { label: "Notes", count: 1 },
      { label: "facts", count: 5 },
    ]);
    expect(await store.entries.labels({ sessionId: "", scope: { key: "k" } })).toEqual([{ label: "facts", count: 1 }]);
    expect(await keys({})).toEqual(["Z", "a/1", "a/2", "b", "ä"]);
    expect(await keys({ prefix: "a/" })).toEqual(["a/1", "a/2"]);
    expect(await keys({ after: "a/1", limit: 2 })).toEqual(["a/2", "b"]);
    const [first] = await store.entries.list(facts, { prefix: "Z" });
    expect([first?.content, first?.createdAt === first?.updatedAt]).toEqual(["of Z", true]);
    await store.entries.delete(facts, "Z");
    expect(await keys({ limit: 1 })).toEqual(["a/1"]);
  });

  it("lists the users and the keys that have some, to one user only that one", async ({ store }) => {
    for (const user of ["bob", "ada", "ad"]) {
      await store.forUser(user).blocks.set({ sessionId: "", kind: "block", label: "memory", scope: "user" }, user);
    }
    await store.entries.set({ sessionId: "", label: "facts", scope: { key: "team" } }, { key: "n", content: "n" });
    await store.session("main").append([message("a")]);
    expect(await store.blocks.owners("user")).toEqual(["ad", "ada", "bob"]);
    expect(await store.blocks.owners("user", { after: "ad", limit: 1 })).toEqual(["ada"]);
    expect(await store.blocks.owners("key")).toEqual(["team"]);
    expect(await store.forUser("ad").blocks.owners("user")).toEqual(["ad"]);
    expect(await store.forUser("ad").blocks.owners("key")).toEqual([]);
  });

  it("tells all that comes of a message", async ({ store }) => {
    const ada = store.forUser("ada");
    await ada.session("main").append([message("m1"), message('m"2')]);
    const from = (...messageIds: string[]) => ({ origin: { author: "model" as const, sessionId: "main", messageIds } });
    await ada.blocks.set({ sessionId: "main", kind: "block", label: "memory", scope: "user" }, "coffee", from("m1"));
    await ada.blocks.set({ sessionId: "main", kind: "block", label: "notes" }, "tea", from('m"2', "m1"));
    await ada.entries.set({ sessionId: "main", label: "facts" }, { key: "sky", content: "blue" }, from("m1"));
    await ada.entries.delete({ sessionId: "main", label: "facts" }, "sky", from("m1"));
    await ada.blocks.set({ sessionId: "main", kind: "block", label: "notes" }, "none", from("m", "m11"));
    const found = await ada.session("main").writes("m1");
    // Those of one millisecond come in any order.
    const told = found.map(({ owner, label, key, version, content }) => [label, version, owner, key, content]);
    expect(told.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))).toEqual([
      ["facts", 1, { session: "main" }, "sky", "blue"],
      ["facts", 2, { session: "main" }, "sky", null],
      ["memory", 1, { user: "ada" }, null, "coffee"],
      ["notes", 1, { session: "main" }, null, "tea"],
    ]);
    expect((await ada.session("main").writes('m"2')).map(({ label }) => label)).toEqual(["notes"]);
    expect(await ada.session("main").writes("none")).toEqual([]);
  });
});
