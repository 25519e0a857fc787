import { type KeptItem, readKept, writeKept } from "@stemma/store";
import { expect } from "../assert.js";
import { collect, message } from "../samples.js";
import { defineTopic } from "../topic.js";

const TIME = "2024-01-02T03:04:05.678Z";
const LATER = "2024-02-03T04:05:06.789Z";

/** Copies of a session: when it was written, and all that is kept beside its messages. */
export const copying = defineTopic("copying", (it) => {
  it("dates the messages of a copy as those of the original", async ({ store }) => {
    const session = store.session("main");
    const tree = {
      messages: [
        { message: message("a"), parentId: null, storedAt: TIME },
        { message: { ...message("b"), createdAt: "2020-01-01T00:00:00.000Z" }, parentId: "a", storedAt: LATER },
        ...Array.from({ length: 70 }, (_, index) => ({
          message: message(`c${index}`),
          parentId: index === 0 ? "b" : `c${index - 1}`,
          storedAt: new Date(Date.parse(LATER) + index).toISOString(),
        })),
      ],
    };
    await session.importTree(tree);
    const times = (await session.tree()).map(({ createdAt }) => createdAt);
    expect(times).toEqual([
      TIME,
      "2020-01-01T00:00:00.000Z",
      ...tree.messages.slice(2).map(({ storedAt }) => storedAt),
    ]);
  });

  it("dates the registry entry of a copy", async ({ store }) => {
    await store.session("main").importTree({ messages: [{ message: message("a"), parentId: null, storedAt: TIME }] });
    await store.sessions.restore("main", { createdAt: TIME, updatedAt: LATER, endReason: "compaction" });
    const info = await store.sessions.get("main");
    expect([info?.created_at, info?.updated_at, info?.end_reason]).toEqual([TIME, LATER, "compaction"]);
    expect((await store.sessions.list({})).sessions).toEqual([info]);
    await store.sessions.restore("main", { endReason: null });
    const again = await store.sessions.get("main");
    expect([again?.created_at, again?.end_reason, (again?.updated_at ?? "") > LATER]).toEqual([TIME, null, true]);
  });

  it("lists the labels of records, and the entries that were removed", async ({ store }) => {
    const { records, entries } = store;
    expect([await records.labels("main"), await entries.removed({ sessionId: "main" })]).toEqual([[], []]);
    for (const label of ["runs", "Leases", "runs"]) {
      await records.set({ sessionId: "main", label }, "k", new Uint8Array([1]));
    }
    await records.set({ sessionId: "other", label: "turns" }, "k", new Uint8Array([1]));
    expect(await records.labels("main")).toEqual(["Leases", "runs"]);
    for (const key of ["stays", "goes", "Gone"]) {
      await entries.set({ sessionId: "main", label: "facts" }, { key, content: key });
      if (key !== "stays") await entries.delete({ sessionId: "main", label: "facts" }, key);
    }
    await entries.set({ sessionId: "main", label: "facts" }, { key: "lost", content: "" }, { keepVersions: 0 });
    await entries.delete({ sessionId: "main", label: "facts" }, "lost", { keepVersions: 0 });
    expect(await entries.removed({ sessionId: "main" })).toEqual([
      { label: "facts", key: "Gone" },
      { label: "facts", key: "goes" },
    ]);
  });

  it("takes along all that is kept beside the messages", async ({ store }) => {
    const own = store.forUser("ada");
    const origin = { author: "model" as const, messageIds: ["a"], toolCallId: "t" };
    await own.session("main").append([message("a")]);
    await own.session("copy").append([message("a")]);
    for (const scope of [{ sessionId: "main" }, { sessionId: "main", scope: "user" }] as const) {
      const memory = { ...scope, kind: "block", label: "memory" } as const;
      for (const text of ["tea", "coffee"]) await own.blocks.set(memory, text, { origin });
      await own.blocks.set({ ...scope, kind: "block", label: "plain" }, "text", { keepVersions: 0 });
      const facts = { ...scope, label: "facts" };
      for (const text of ["one", "two"]) await own.entries.set(facts, { key: "k", content: text, value: [text] });
      await own.entries.set(facts, { key: "gone", content: "gone" }, { origin });
      await own.entries.delete(facts, "gone");
    }
    await own.blocks.set({ sessionId: "main", kind: "prompt", label: "" }, "You are kind.");
    const record = { sessionId: "main", label: "marks" };
    await own.records.set(record, "k", Uint8Array.of(0, 255), { expiresAt: Date.now() + 3_600_000 });
    const bob = store.forUser("bob");
    const copies = [
      [own, { sessionId: "main" }, own, { sessionId: "copy" }],
      [own, { sessionId: "", scope: "user" }, bob, { sessionId: "", scope: "user" }],
    ] as const;
    for (const [from, source, to, target] of copies) {
      const items = await collect(readKept(from, source));
      const written: boolean[] = [];
      for (const item of items) written.push(await writeKept(to, target, item));
      expect(written.includes(false)).toBe(false);
      expect(await collect(readKept(to, target))).toEqual(items);
      // A second time what is there stays as it is.
      for (const item of items) await writeKept(to, target, changed(item));
      expect(await collect(readKept(to, target))).toEqual(items);
    }
  });
});

function changed(item: KeptItem): KeptItem {
  if (item.kind === "entry") return { ...item, entry: { ...item.entry, content: "changed" } };
  if (item.kind === "block" || item.kind === "prompt") {
    return { ...item, block: { ...item.block, content: "changed" } } as KeptItem;
  }
  if (item.kind === "record") return { ...item, record: { ...item.record, value: Uint8Array.of(9) } };
  return item;
}
