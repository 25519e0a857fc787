import { expect, expectError } from "../assert.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const FILES = { sessionId: "main", label: "files" };

/** Entries that programs read: values, times, expectations, and searches below a prefix of the keys. */
export const entryValues = defineTopic("entry values", (it) => {
  it("keeps any JSON beside an entry's text", async ({ store }) => {
    const { entries } = store;
    for (const value of [null, 0, false, "", "a\0b \ud83d", [1, [2]], { a: { "\u2028": null }, ["__proto__"]: 1 }]) {
      await entries.set(FILES, { key: "k", content: "text", value });
      expect((await entries.get(FILES, "k"))?.value).toEqual(value);
    }
    const listed = await entries.list(FILES);
    expect(listed).toEqual([await entries.get(FILES, "k")]);
    await entries.append(FILES, { key: "k", content: "more" }, { maxTokens: 100 });
    const appended = await entries.get(FILES, "k");
    expect([appended?.content, Object.keys(appended?.value as object)]).toEqual(["text\nmore", ["a", "__proto__"]]);
    await entries.set(FILES, { key: "k", content: "text" });
    expect("value" in ((await entries.get(FILES, "k")) ?? {})).toBe(false);
    await expectError(entries.set(FILES, { key: "k", content: "", value: 1n }), "INVALID_ARGUMENT");
  });

  it("finds an entry with a value by its text only", ["search"], async ({ store }) => {
    const { entries } = store;
    await entries.set(FILES, { key: "green/tea", content: "leaves" });
    await entries.set(FILES, { key: "black/tea", content: "leaves", value: { of: "coffee" } });
    await entries.set(FILES, { key: "no/text", content: "", value: "leaves" });
    const keys = async (query: string, prefix?: string) =>
      (await entries.search(FILES, query, { limit: 10, prefix })).map(({ key }) => key).sort();
    expect(await keys("tea")).toEqual(["green/tea"]);
    expect(await keys("leaves")).toEqual(["black/tea", "green/tea"]);
    expect(await keys("leaves", "black/")).toEqual(["black/tea"]);
    expect(await keys("coffee")).toEqual([]);
    const scores = (await entries.search(FILES, "green leaves", { limit: 10 })).map(({ score }) => score);
    expect(scores.every((score) => score > 0)).toBe(true);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    const [found] = await entries.search(FILES, "leaves", { limit: 1, prefix: "black/" });
    expect(found).toEqual({ ...(await entries.get(FILES, "black/tea")), score: found?.score });
  });

  it(
    "finds entries whatever the width of their characters, and nothing wrong with them",
    ["search", "check"],
    async ({ store }) => {
      const { entries } = store;
      await entries.set(FILES, { key: "ｃａｂｌｅ", content: "ＵＳＢ" });
      await entries.set(FILES, { key: "data", content: "ﾃﾞｰﾀｾｯﾄ, Straße" });
      const keys = async (query: string) => (await entries.search(FILES, query, { limit: 10 })).map(({ key }) => key);
      for (const query of ["cable", "usb", "ＵＳＢ"]) expect(await keys(query)).toEqual(["ｃａｂｌｅ"]);
      for (const query of ["データ", "STRASSE", "ﾃﾞｰﾀ"]) expect(await keys(query)).toEqual(["data"]);
      expect((await store.check?.())?.ok).toBe(true);
    },
  );

  it("finds nothing wrong with entries that have values", ["check"], async ({ store }) => {
    await store.entries.set(FILES, { key: "black/tea", content: "leaves", value: { of: "coffee" } });
    await store.entries.set(FILES, { key: "no/text", content: "", value: null });
    expect((await store.check?.())?.problems).toEqual([]);
  });

  it("tells when an entry was made and last written", async ({ store }) => {
    const { entries } = store;
    const [made, written] = ["2024-01-02T03:04:05.678Z", "2025-01-02T03:04:05.678Z"];
    await entries.set(FILES, { key: "k", content: "copy" }, { createdAt: made, updatedAt: written });
    const copy = await entries.get(FILES, "k");
    expect([copy?.createdAt, copy?.updatedAt]).toEqual([made, written]);
    await entries.set(FILES, { key: "k", content: "new" });
    const changed = await entries.get(FILES, "k");
    expect([changed?.createdAt, (changed?.updatedAt ?? "") > written]).toEqual([made, true]);
  });

  it("writes and deletes only what says what is expected", async ({ store }) => {
    const { entries } = store;
    const conflict = (writing: Promise<unknown>) => expectError(writing, "ENTRY_CONFLICT");
    await conflict(entries.set(FILES, { key: "k", content: "b" }, { expectedContent: "a" }));
    await entries.set(FILES, { key: "k", content: "a" }, { expectedContent: null });
    await conflict(entries.set(FILES, { key: "k", content: "b" }, { expectedContent: null }));
    await entries.set(FILES, { key: "k", content: "b" }, { expectedContent: "a" });
    await conflict(entries.delete(FILES, "k", { expectedContent: "a" }));
    expect((await entries.get(FILES, "k"))?.content).toBe("b");
    await entries.delete(FILES, "k", { expectedContent: "b" });
    await conflict(entries.delete(FILES, "k", { expectedContent: "b" }));
    await entries.delete(FILES, "k", { expectedContent: null });
    expect((await entries.versions(FILES, "k")).map(({ content }) => content)).toEqual([null, "b", "a"]);
  });

  for (const [whose, scope] of [
    ["a session", FILES],
    ["a key", { sessionId: "", label: "files", scope: { key: "team" } }],
  ] as const) {
    it(
      `lets one of many writers make an entry of ${whose}, and one change it`,
      ["durable"],
      async (workspace: Workspace) => {
        const others = await Promise.all(Array.from({ length: 3 }, () => workspace.connect()));
        const stores = [workspace.store, ...others.map(({ store }) => store)];
        for (const expectedContent of [null, "first"]) {
          const results = await Promise.allSettled(
            Array.from({ length: 8 }, (_, index) => {
              const { entries } = stores[index % stores.length] as (typeof stores)[number];
              const content = expectedContent === null ? "first" : `second ${index}`;
              return entries.set(scope, { key: "k", content }, { expectedContent });
            }),
          );
          expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
          for (const result of results)
            if (result.status === "rejected") expect(result.reason.code).toBe("ENTRY_CONFLICT");
        }
      },
    );
  }

  it("gives a user's entries with values to another user as they are", async ({ store }) => {
    const own = (user: string) => store.forUser(user).entries;
    const files = { sessionId: "", label: "files", scope: "user" } as const;
    await own("guest").set(files, { key: "new", content: "text", value: { from: "guest" } });
    await own("guest").set(files, { key: "both", content: "guest's", value: { from: "guest" } });
    await own("ada").set(files, { key: "both", content: "Ada's", value: { from: "ada" } });
    await store.sessions.claim("guest", "ada");
    const found = await own("ada").list(files);
    expect(found.map(({ key, content, value }) => [key, content, value])).toEqual([
      ["both", "Ada's", { from: "ada" }],
      ["new", "text", { from: "guest" }],
    ]);
  });
});
