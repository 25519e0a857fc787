import { NAME_LIMITS } from "@stemma/model";
import type { KeptWrite } from "@stemma/store";
import { expect, expectError } from "./assert.js";
import { message } from "./samples.js";
import { defineTopic } from "./topic.js";

/** A text of just as many bytes as this kind of name may have, which does not compress, in two alphabets. */
function longest(kind: keyof typeof NAME_LIMITS, start = ""): string {
  let text = start;
  for (let n = 1; text.length < NAME_LIMITS[kind]; n += 1) text += ((n * 2_654_435_761) % 4_294_967_296).toString(36);
  return text.slice(0, NAME_LIMITS[kind]);
}

const wide = (kind: keyof typeof NAME_LIMITS) => "漢".repeat(Math.floor(NAME_LIMITS[kind] / 3));

/** How long the names may be under which something is kept. */
export const nameLimits = defineTopic("lengths of names", (it) => {
  it("keeps what has the longest names together, and finds, lists and deletes it", async ({ manager, store }) => {
    for (const name of [longest, wide]) {
      const [id, user] = [name("id"), name("owner")];
      const own = manager.forUser(user);
      const made = await own.create(name("name"), {
        id,
        model: name("model"),
        source: name("model"),
        parentSessionId: id,
      });
      expect([made.id, made.name, made.user_id, made.model]).toEqual([id, name("name"), user, name("model")]);
      const session = own.getSession(id);
      await session.appendMessage({ ...message(name("id"), "tea"), role: name("role") });
      await session.appendMessage(message("next", "tea"));
      await own.addUsage(id, 1, 1, 0, name("model"));
      const label = name("label");
      for (const scope of ["session", "user", { key: name("owner") }] as const) {
        const place = { sessionId: scope === "session" ? id : "", label, scope };
        const kept = scope === "user" ? store.forUser(user) : store;
        for (const content of ["one", "two"]) {
          await kept.blocks.set({ ...place, kind: "block" }, content);
          await kept.entries.set(place, { key: name("key"), content });
        }
        expect((await kept.blocks.versions({ ...place, kind: "block" })).length).toBe(2);
        expect((await kept.entries.get(place, name("key")))?.content).toBe("two");
      }
      const records = { sessionId: id, label };
      await store.records.set(records, name("key"), new Uint8Array([1]));
      expect((await store.records.list(records)).map(({ key }) => key)).toEqual([name("key")]);
      expect((await session.getMessage(name("id")))?.role).toBe(name("role"));
      expect((await own.list()).map(({ id: listed }) => listed)).toEqual([id]);
      await manager.delete(id);
      expect(await manager.get(id)).toBe(null);
    }
  });

  it("refuses a name that is one byte longer, says which it is, and writes nothing", async ({
    manager,
    store,
    sessionOf,
  }) => {
    const over = (kind: keyof typeof NAME_LIMITS) => `${longest(kind)}x`;
    const value = new Uint8Array([1]);
    const records = { sessionId: "s", label: "l" };
    const refused: (() => Promise<unknown>)[] = [
      () => manager.create("", { id: over("id") }),
      () => manager.create(over("name"), { id: "s" }),
      () => manager.create("", { id: "s", userId: over("owner") }),
      () => manager.create("", { id: "s", parentSessionId: over("id") }),
      () => manager.create("", { id: "s", model: over("model") }),
      () => manager.create("", { id: "s", source: over("model") }),
      () => sessionOf(over("id")).appendMessage(message("a")),
      () => sessionOf(over("id")).appendAll([message("a")]),
      () => sessionOf(over("id")).upsertMessage(message("a")),
      () => store.session(over("id")).append([message("a")], undefined),
      () =>
        store
          .session(over("id"))
          .importTree({ messages: [{ message: message("a"), parentId: null }], compactions: [] }),
      () => store.blocks.set({ sessionId: "s", kind: "block", label: over("label") }, "x"),
      () => store.blocks.set({ sessionId: "", kind: "block", label: "l", scope: { key: over("owner") } }, "x"),
      () => store.entries.set({ sessionId: "s", label: over("label") }, { key: "k", content: "x" }),
      () => store.entries.set({ sessionId: "s", label: "l" }, { key: over("key"), content: "x" }),
      () => store.entries.append({ sessionId: "s", label: "l" }, { key: over("key"), content: "x" }, { maxTokens: 9 }),
      () => store.records.set(records, over("key"), value),
      () => store.records.set({ sessionId: over("id"), label: "l" }, "k", value),
      ...(
        [
          { records, key: over("key"), value },
          { records, key: over("key"), value, options: { expectedVersion: 0 } },
          { entries: records, key: over("key"), content: "x" },
          { block: { sessionId: "s", kind: "block", label: over("label") }, content: "x" },
          { session: over("id"), append: [message("a")] },
        ] satisfies KeptWrite[]
      ).map((write) => () => store.writeTogether([write])),
    ];
    for (const call of refused) {
      const error = await expectError(call(), "INVALID_ARGUMENT");
      const { limit, bytes } = error.details as { limit: number; bytes: number };
      expect(bytes).toBe(limit + 1);
    }
    for (const given of [message(over("id")), { ...message("a"), role: over("role") }]) {
      await expectError(sessionOf("s").appendMessage(given), "INVALID_MESSAGE");
    }
    expect(await manager.list()).toEqual([]);
  });

  it("reads and deletes under names of any length, as under those that are not there", async ({
    manager,
    store,
    sessionOf,
  }) => {
    const long = "x".repeat(100_000);
    expect(await manager.get(long)).toBe(null);
    expect(await sessionOf(long).getHistory()).toEqual([]);
    expect(await sessionOf("s").getMessage(long)).toBe(null);
    expect(await store.records.get({ sessionId: long, label: long }, long)).toBe(null);
    expect(await store.entries.get({ sessionId: long, label: long }, long)).toBe(null);
    await sessionOf("s").deleteMessages([long]);
    await sessionOf(long).clearMessages();
    await store.entries.delete({ sessionId: "s", label: long }, long);
    await store.records.delete({ sessionId: "s", label: long }, long);
    await manager.delete(long);
  });
});
