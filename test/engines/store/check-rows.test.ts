import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { message } from "../../../packages/conformance/src/samples.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const facts = { sessionId: "one", label: "facts" };

function open() {
  const database = new Database(":memory:");
  return { database, store: sqlite(database) };
}

describe("a check of rows beside the messages", () => {
  it.each(["{", "[1]", "null", '"m1"'])(
    "names a version with the message ids %s, which are read as none",
    async (ids) => {
      const { database, store } = open();
      const origin = { author: "learning", messageIds: ["m1"] } as const;
      await store.entries.set(facts, { key: "sky", content: "blue" }, { origin });
      expect(await store.entries.versions(facts, "sky")).toMatchObject([{ messageIds: ["m1"] }]);
      database.prepare("UPDATE assistant_versions SET message_ids = ?").run(ids);
      expect(await store.entries.versions(facts, "sky")).toMatchObject([{ content: "blue", messageIds: [] }]);
      expect((await store.check?.())?.problems).toMatchObject([{ rule: "version", id: "sky", repaired: false }]);
      expect((await store.check?.({ repair: true }))?.problems).toMatchObject([{ repaired: true }]);
      expect(await store.check?.()).toMatchObject({ ok: true });
    },
  );

  it("looks at every row once, page after page", async () => {
    const { database, store } = open();
    for (let index = 0; index < 150; index += 1) {
      await store.entries.set(facts, { key: `key-${index}`, content: "text" });
      await store.records.set(facts, `key-${index}`, new Uint8Array());
    }
    await store.entries.set({ ...facts, sessionId: "two" }, { key: "sky", content: "blue" });
    const rows = { cf_agents_search_entries: 150, assistant_versions: 150, assistant_records: 150 };
    expect((await store.check?.({ sessionId: "one" }))?.checked).toMatchObject(rows);
    expect((await store.check?.())?.checked).toMatchObject({
      ...rows,
      assistant_versions: 151,
      cf_agents_search_entries: 151,
    });
    database.exec(`UPDATE assistant_records SET version = -1;
      UPDATE assistant_versions SET author = 'x';
      UPDATE cf_agents_search_entries SET updated_at = ''`);
    const found = await store.check?.({ repair: true });
    expect(found?.problems).toHaveLength(150 + 151 + 151);
    expect(found?.repaired).toBe(150 + 151 + 151);
    expect(await store.check?.()).toMatchObject({ ok: true });
  });
});

describe("messages of two sessions", () => {
  async function fill() {
    const { database, store } = open();
    const [one, two] = ["one", "two"].map((id) => Session.create(store).forSession(id)) as [Session, Session];
    for (const session of [one, two]) await session.appendAll(["a", "b", "c"].map((id) => message(id, `${id} is due`)));
    return { database, store, one, two };
  }

  it("are found under a summary whose end stands in the other session, which covers none", async () => {
    const { database, store, one } = await fill();
    const { id } = await one.addCompaction("What was due.", "a", "b");
    expect((await one.search("due")).map(({ coveredBy }) => coveredBy?.length)).toEqual(
      expect.arrayContaining([0, 1, 1]),
    );
    database.exec(
      "UPDATE assistant_compactions SET to_n = (SELECT max(n) FROM assistant_messages WHERE session_id = 'two')",
    );
    expect((await one.search("due")).map(({ coveredBy }) => coveredBy)).toEqual([[], [], []]);
    expect((await store.check?.())?.problems).toMatchObject([{ id }]);
  });

  it("are mended where a session's id is no UTF-8 any more", async () => {
    const { database, store, two } = await fill();
    // "tw" and the second half of a character.
    database.exec(
      "UPDATE assistant_messages SET session_id = CAST(x'7477ef' AS TEXT) WHERE session_id = 'two' AND id = 'b'",
    );
    const found = await store.check?.({ repair: true });
    expect(found?.problems.length).toBeGreaterThan(0);
    expect(found?.repaired).toBe(found?.problems.length);
    expect(await store.check?.()).toMatchObject({ ok: true });
    expect((await two.getHistory()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });
});
