import type { KeptWrite, ListedEntry } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

const RECORDS = { sessionId: "main", label: "operations" };
const value = Uint8Array.of(1, 2, 3);

const noted = (key: string): KeptWrite => ({ records: RECORDS, key, value, options: { expectedVersion: 0 } });

/** Writes to messages, records, blocks and entries that are made together. */
export const writingTogether = defineTopic("writing together", (it) => {
  it("appends messages together with what is kept beside them", async ({ store }) => {
    const session = store.session("main");
    await store.writeTogether([noted("one"), { session: "main", append: [message("a"), message("b")] }]);
    await store.writeTogether([
      { session: "main", append: [message("c")], parent: "a", expectedLeaf: "b" },
      { session: "other", append: [message("x")], parent: null },
      { entries: { sessionId: "main", label: "files" }, key: "k", content: "text", value: [1] },
    ]);
    expect((await session.path()).messages.map(({ id }) => id)).toEqual(["a", "c"]);
    expect((await store.session("other").leaf())?.id).toBe("x");
    expect((await store.entries.get({ sessionId: "main", label: "files" }, "k"))?.value).toEqual([1]);
    expect((await store.sessions.get("other"))?.id).toBe("other");
  });

  it("writes nothing where one of the writes is refused", ["transactions"], async ({ store }) => {
    const session = store.session("main");
    await session.append([message("a"), message("b")]);
    await store.writeTogether([noted("one")]);
    const files = { sessionId: "main", label: "files" };
    await store.entries.set(files, { key: "f", content: "text" });
    const read = (await store.entries.get(files, "f")) as ListedEntry;
    await store.entries.set(files, { key: "f", content: "text", tags: ["t"] });
    const refused: [KeptWrite, string][] = [
      [noted("one"), "RECORD_CONFLICT"],
      [{ records: RECORDS, key: "one", atVersion: 1 }, "RECORD_CONFLICT"],
      [{ records: RECORDS, key: "none", atVersion: 1 }, "RECORD_CONFLICT"],
      [{ session: "main", append: [message("a")], onlyNew: true }, "MESSAGE_EXISTS"],
      [{ session: "main", append: [message("d"), message("b")], parent: null, onlyNew: true }, "MESSAGE_EXISTS"],
      [{ session: "main", append: [message("d")], expectedLeaf: "b" }, "LEAF_MOVED"],
      [{ session: "main", append: [message("d")], parent: "none" }, "PARENT_NOT_FOUND"],
      [{ session: "main", append: [{ ...message("d"), parts: 1 } as never] }, "INVALID_MESSAGE"],
      [{ session: "main", activeLeaf: "none" }, "MESSAGE_NOT_FOUND"],
      [{ session: "main", activeLeaf: "b", expectedLeaf: "b" }, "LEAF_MOVED"],
      [{ session: "main", activeLeaf: null, expectedLeaf: null }, "LEAF_MOVED"],
      [{ session: "main", update: message("none") }, "MESSAGE_NOT_FOUND"],
      [{ session: "main", upsert: message("d"), parent: "none" }, "PARENT_NOT_FOUND"],
      [{ session: "main", appendSibling: message("d"), of: "none" }, "MESSAGE_NOT_FOUND"],
      [{ session: "main", selectBranch: "none" }, "MESSAGE_NOT_FOUND"],
      [{ registered: "none", change: { name: "Tea" } }, "SESSION_NOT_FOUND"],
      [{ entries: files, asRead: read }, "ENTRY_CONFLICT"],
      [{ entries: files, asRead: { ...read, key: "none" } }, "ENTRY_CONFLICT"],
      [{ registered: "none", usage: { inputTokens: 1, outputTokens: 1, cost: 1 } }, "SESSION_NOT_FOUND"],
      [
        {
          entries: files,
          key: "k",
          content: "new",
          options: { expectedContent: "old" },
        },
        "ENTRY_CONFLICT",
      ],
    ];
    for (const [write, code] of refused) {
      const writing = store.writeTogether([
        { session: "main", append: [message("c")] },
        noted("two"),
        { session: "main", activeLeaf: "a" },
        write,
      ]);
      await expectError(writing, code);
      expect((await session.path()).messages.map(({ id }) => id)).toEqual(["a", "b"]);
      expect(await store.records.get(RECORDS, "two")).toBe(null);
    }
  });

  it("writes what belongs to a record while that stays as it was read", async ({ store }) => {
    const { version } = await store.records.set(RECORDS, "parent", value);
    const check: KeptWrite = { records: RECORDS, key: "parent", atVersion: version };
    const child = (key: string): KeptWrite[] => [check, { records: RECORDS, key, value }];
    await store.writeTogether(child("one"));
    await store.writeTogether([...child("two"), { session: "main", append: [message("a")], onlyNew: true }]);
    expect((await store.records.get(RECORDS, "parent"))?.version).toBe(version);
    // Of a delete and many writes at once, those that were made came before it.
    const writes = Array.from({ length: 8 }, (_, index) => store.writeTogether(child(`at once ${index}`)));
    const results = await Promise.allSettled([...writes, store.records.delete(RECORDS, "parent")]);
    const made = results.slice(0, 8).filter(({ status }) => status === "fulfilled").length;
    expect((await store.records.list(RECORDS, { prefix: "at once" })).length).toBe(made);
    await expectError(store.writeTogether(child("late")), "RECORD_CONFLICT");
    await expectError(store.forUser("ada").writeTogether(child("late")), "RECORD_CONFLICT");
  });

  it("writes nothing of any kind behind a record that another writer changed", ["transactions"], async ({ store }) => {
    const session = store.session("main");
    await session.append([message("a"), message("b")]);
    await session.append([message("c")], "a");
    const old = await store.records.set(RECORDS, "owner", value);
    const { version } = await store.records.set(RECORDS, "owner", Uint8Array.of(4));
    const usage = { inputTokens: 1, outputTokens: 2, cost: 3 };
    const writes: KeptWrite[] = [
      { session: "main", append: [message("d")] },
      { session: "main", appendSibling: message("d"), of: "b" },
      { session: "main", upsert: message("d"), parent: "b" },
      { session: "main", upsert: message("c", "changed") },
      { session: "main", update: message("c", "changed") },
      { session: "main", activeLeaf: "b" },
      { session: "main", selectBranch: "b" },
      { session: "main", clear: true },
      { registered: "main", change: { name: "Tea" } },
      { registered: "main", usage },
      { block: { sessionId: "main", kind: "block", label: "facts" }, content: "new" },
      { entries: { sessionId: "main", label: "files" }, key: "k", content: "new" },
      { records: RECORDS, key: "other", value },
    ];
    for (const each of [store, store.forUser("ada")]) {
      for (const write of writes) {
        const check: KeptWrite = { records: RECORDS, key: "owner", atVersion: old.version };
        await expectError(each.writeTogether([check, write]), "RECORD_CONFLICT");
      }
    }
    expect((await session.tree()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect((await store.sessions.get("main"))?.name).toBe("main");
    expect(await store.sessions.usageRows("main")).toEqual([]);
    expect(await store.blocks.list({ sessionId: "main" })).toEqual([]);
    expect((await session.path()).messages).toEqual([message("a"), message("c")]);
    expect((await store.sessions.get("main"))?.user_id).toBe(null);
    const check: KeptWrite = { records: RECORDS, key: "owner", atVersion: version };
    await store.forUser("ada").writeTogether([check, { session: "main", update: message("c", "changed") }]);
    expect(await session.message("c")).toEqual(message("c", "changed"));
  });

  it("tells the ids of what it inserted and of the leaf that it chose", async ({ store }) => {
    const session = store.session("main");
    const ids = await store.writeTogether([
      noted("one"),
      { records: RECORDS, key: "two", value },
      { records: RECORDS, key: "three", value },
      { session: "main", append: [message("a"), message("b")] },
      { session: "main", append: [message("b"), message("c")] },
      { session: "main", upsert: message("c", "changed") },
      { session: "main", upsert: message("d"), parent: "a" },
      { session: "main", appendSibling: message("e"), of: "b" },
      { session: "main", update: message("e", "changed") },
      { session: "main", selectBranch: "b" },
    ]);
    expect(ids).toEqual([[], [], [], ["a", "b"], ["c"], [], ["d"], ["e"], [], ["c"]]);
    expect((await session.path()).messages).toEqual([message("a"), message("b"), message("c", "changed")]);
    expect((await session.siblings("e")).map(({ id }) => id)).toEqual(["b", "d", "e"]);
    expect(await store.writeTogether([{ session: "main", activeLeaf: "e" }])).toEqual([["e"]]);
    expect(await session.message("e")).toEqual(message("e", "changed"));
  });

  it("updates a message that is as it was read, and no other one", async ({ store }) => {
    const session = store.session("main");
    await session.append([{ ...message("a"), createdAt: new Date(0) }]);
    const first = await session.message("a");
    const updating = (text: string): KeptWrite => ({
      session: "main",
      update: message("a", text),
      expected: first ?? message("a"),
    });
    await store.writeTogether([updating("second")]);
    await expectError(store.writeTogether([noted("one"), updating("third")]), "MESSAGE_CHANGED");
    expect(await session.message("a")).toEqual(message("a", "second"));
    const unknown: KeptWrite = { session: "main", update: message("b"), expected: message("b") };
    await expectError(store.writeTogether([unknown]), "MESSAGE_CHANGED");
  });

  it("changes a registry entry and counts usage together with other writes", async ({ store }) => {
    const ada = store.forUser("ada");
    await ada.writeTogether([
      { session: "main", append: [message("a")] },
      { registered: "main", change: { name: "Tea", expectedName: "main", metadata: { tag: "x" } } },
      { registered: "main", change: { name: "Coffee", expectedName: "main" } },
      { registered: "main", usage: { inputTokens: 1, outputTokens: 2, cost: 0.5 }, model: "one" },
      { registered: "main", usage: { inputTokens: 1, outputTokens: 2, cost: 0.5 }, model: "one" },
    ]);
    const info = await ada.sessions.get("main");
    expect([info?.name, info?.metadata, info?.input_tokens, info?.output_tokens, info?.estimated_cost]).toEqual([
      "Tea",
      { tag: "x" },
      2,
      4,
      1,
    ]);
    expect((await ada.sessions.usageRows("main")).map(({ model, requests }) => [model, requests])).toEqual([
      ["one", 2],
    ]);
    const renaming: KeptWrite = { registered: "main", change: { name: "Mine" } };
    await expectError(store.forUser("bob").writeTogether([renaming]), "SESSION_NOT_FOUND");
    await store.writeTogether([renaming]);
    expect((await ada.sessions.get("main"))?.name).toBe("Mine");
  });

  it("does what a repeated operation did once", async ({ store }) => {
    const operation = () =>
      store.writeTogether([noted("operation"), { session: "main", append: [message("a")], parent: null }]);
    const results = await Promise.allSettled([operation(), operation(), operation()]);
    expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
    expect(await store.session("main").count()).toBe(1);
  });

  it("leaves a session without an active leaf, and begins anew from there", async ({ store, session }) => {
    const own = store.session(session.id);
    await store.writeTogether([{ session: "none", activeLeaf: null }]);
    expect(await store.sessions.get("none")).toBe(null);
    await own.append([message("a"), message("b")]);
    await store.writeTogether([{ session: session.id, activeLeaf: null }]);
    expect([await own.leaf(), (await own.path()).messages, await own.count()]).toEqual([null, [], 2]);
    expect(await session.getHistory()).toEqual([]);
    await own.append([message("c")]);
    expect((await own.path()).messages.map(({ id }) => id)).toEqual(["c"]);
    expect((await own.siblings("c")).map(({ id }) => id)).toEqual(["a", "c"]);
    await own.setActiveLeaf(null);
    await own.setActiveLeaf("b");
    expect((await own.path()).messages.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("updates messages in place, and moves the leaf from where it is expected", async ({ store }) => {
    const session = store.session("main");
    await session.append([message("a"), message("b")]);
    await store.writeTogether([
      { session: "main", update: message("b", "changed") },
      { session: "main", append: [message("c")] },
      { session: "main", activeLeaf: "a", expectedLeaf: "c" },
    ]);
    expect(await session.message("b")).toEqual(message("b", "changed"));
    expect((await session.leaf())?.id).toBe("a");
    await store.writeTogether([{ session: "main", activeLeaf: null, expectedLeaf: "a" }]);
    await store.writeTogether([{ session: "main", activeLeaf: "b", expectedLeaf: null }]);
    expect((await session.leaf())?.id).toBe("b");
  });

  it("clears a session and writes it anew", async ({ store }) => {
    const session = store.session("main");
    await session.append([message("a"), message("b")]);
    await store.writeTogether([
      { session: "main", clear: true },
      { session: "main", append: [message("b")] },
    ]);
    expect((await session.path()).messages.map(({ id }) => id)).toEqual(["b"]);
    expect(await session.count()).toBe(1);
  });

  it("deletes records together with other writes", async ({ store }) => {
    await store.writeTogether([noted("one"), noted("two")]);
    await store.writeTogether([{ records: RECORDS, key: "one", value: null }, noted("three")]);
    expect((await store.records.list(RECORDS)).map(({ key }) => key)).toEqual(["three", "two"]);
  });

  it("keeps another user out, and makes a session the user's", async ({ store }) => {
    const [ada, bob] = [store.forUser("ada"), store.forUser("bob")];
    await ada.writeTogether([{ session: "main", append: [message("a")] }]);
    expect((await store.sessions.get("main"))?.user_id).toBe("ada");
    await expectError(bob.writeTogether([{ session: "main", append: [message("b")] }]), "SESSION_OWNED");
    await expectError(bob.writeTogether([{ session: "main", clear: true }]), "SESSION_OWNED");
    expect(await store.session("main").count()).toBe(1);
  });

  it("lets writers of the same sessions wait for each other in any order", async ({ store }) => {
    const write = (index: number) => {
      const append = (session: string) => ({ session, append: [message(`${session} ${index}`)] });
      return store.writeTogether(index % 2 === 0 ? [append("a"), append("b")] : [append("b"), append("a")]);
    };
    await Promise.all(Array.from({ length: 12 }, (_, index) => write(index)));
    expect(await Promise.all(["a", "b"].map((id) => store.session(id).length()))).toEqual([12, 12]);
  });
});
