import type { SessionMessage } from "@stemma/model";
import type { SessionStore, StreamOptions } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { collect, message } from "../samples.js";
import { defineTopic } from "../topic.js";

const many = (count: number) => Array.from({ length: count }, (_, index) => message(`m${index}`));

const PICTURE = `data:image/png;base64,${"A".repeat(10_000)}`;

async function* none(): AsyncGenerator<string> {}

async function idsOf(session: SessionStore, options: StreamOptions): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of session.stream(options)) ids.push(id);
  return ids;
}

/** Reading a path from a place on, the tree page by page, and a text that tells of changes. */
export const paging = defineTopic("paging", (it) => {
  it("reads on behind any message of a path, both ways, across branches", async ({ session, store }) => {
    const own = store.session("main");
    await session.appendAll(many(90));
    const [first] = (await session.getHistory()) as SessionMessage[];
    await session.appendMessage(message("side", "another way"), first?.id ?? null);
    await session.appendMessage(message("side-2", "and on"));
    const trunk = (await idsOf(own, { leafId: many(90).at(-1)?.id })).slice();
    for (const at of [0, 1, 40, 88, 89]) {
      const after = trunk[at] as string;
      const leafId = trunk.at(-1);
      expect(await idsOf(own, { leafId, after })).toEqual(trunk.slice(at + 1));
      expect(await idsOf(own, { leafId, after, newestFirst: true })).toEqual(trunk.slice(0, at).reverse());
    }
    expect(await idsOf(own, { after: "side" })).toEqual(["side-2"]);
    expect(await idsOf(own, { after: "side", newestFirst: true })).toEqual([first?.id ?? ""]);
    await expectError(idsOf(own, { after: "nowhere" }), "MESSAGE_NOT_FOUND");
    await expectError(idsOf(own, { after: trunk[5] as string }), "MESSAGE_NOT_FOUND");
  });

  it("gives as lines of JSON what it gives as messages, where it gives lines", async ({ session, store }) => {
    const own = store.session("main");
    const linesOf = async (options?: StreamOptions) => (await collect(own.lines?.(options) ?? none())).join("");
    const odd = {
      text: message("text", "Zeilen\n\u2028 und \ud83d\ude00"),
      fields: { ...message("fields"), $stemma: { own: 1 }, ["__proto__"]: { deep: [-0, 1e21, null] }, $: 1 },
      dated: { ...message("dated"), createdAt: new Date(0) },
      media: { ...message("media"), parts: [{ type: "file", mediaType: "image/png", url: PICTURE }] },
    };
    await session.appendAll([...many(150), ...Object.values(odd)] as SessionMessage[]);
    if (own.lines === undefined) return;
    for (const options of [{}, { newestFirst: true }, { createdAt: true }, { after: "m70", firstPage: 3 }]) {
      const messages = await collect(own.stream(options));
      expect(await linesOf(options)).toBe(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
    }
    await session.addCompaction("Many were counted.", "m3", "m140");
    const shown = await collect(own.stream());
    expect(await linesOf()).toBe(shown.map((each) => `${JSON.stringify(each)}\n`).join(""));
    await expectError(linesOf({ after: "nowhere" }), "MESSAGE_NOT_FOUND");
    expect(await collect(store.session("nobody").lines?.() ?? none())).toEqual([]);
  });

  it("reads the same, however many messages it reads at first", async ({ session, store }) => {
    await session.appendAll(many(150));
    const ids = many(150).map(({ id }) => id);
    for (const firstPage of [1, 51, 64, 1_000]) {
      expect(await idsOf(store.session("main"), { firstPage })).toEqual(ids);
      expect(await idsOf(store.session("main"), { firstPage, newestFirst: true })).toEqual(ids.slice().reverse());
    }
  });

  it("counts a summary as one message there, and what it covers as none", async ({ session, store }) => {
    const own = store.session("main");
    await session.appendAll(many(9));
    const ids = many(9).map(({ id }) => id);
    const { id } = await session.addCompaction("In short.", ids[2] as string, ids[4] as string);
    const summary = `compaction_${id}`;
    expect(await idsOf(own, { after: summary })).toEqual(ids.slice(5));
    expect(await idsOf(own, { after: summary, newestFirst: true })).toEqual([ids[1] as string, ids[0] as string]);
    expect(await idsOf(own, { after: ids[5] as string, newestFirst: true })).toEqual([
      summary,
      ...ids.slice(0, 2).reverse(),
    ]);
    expect(await idsOf(own, { after: ids[1] as string })).toEqual([summary, ...ids.slice(5)]);
    await expectError(idsOf(own, { after: ids[3] as string }), "MESSAGE_NOT_FOUND");
    expect(await idsOf(own, { after: ids[3] as string, summaries: false })).toEqual(ids.slice(4));
  });

  it("gives the tree page by page, newest first", async ({ session, store }) => {
    const own = store.session("main");
    expect(await own.treePage()).toEqual({ nodes: [], next: null });
    await session.appendAll(many(7));
    await session.appendMessage(message("side"), many(7)[2]?.id ?? null);
    expect(await own.count()).toBe(8);
    const all = (await own.tree()).reverse();
    const first = await own.treePage({ limit: 3 });
    expect(first).toEqual({ nodes: all.slice(0, 3), next: all[2]?.id ?? null });
    const second = await own.treePage({ after: first.next as string, limit: 3 });
    expect(second.nodes).toEqual(all.slice(3, 6));
    expect(await own.treePage({ after: second.next as string, limit: 3 })).toEqual({ nodes: all.slice(6), next: null });
    await expectError(own.treePage({ after: "nowhere" }), "MESSAGE_NOT_FOUND");
  });

  it("tells of every change of a session, and of none of another's", async ({ sessionOf, manager, store }) => {
    const session = sessionOf("main").withContext("memory");
    const own = store.session("main");
    const seen = [await own.change()];
    const changed = async (write: () => Promise<unknown>) => {
      await write();
      const now = await own.change();
      expect(seen.includes(now)).toBe(false);
      expect(await own.change()).toBe(now);
      seen.push(now);
    };
    await changed(() => session.appendAll(many(4)));
    await changed(() => session.appendMessage(message("a")));
    await changed(() => session.updateMessage(message("a", "other words")));
    await changed(() => session.updateMessage(message("a", "again")));
    await changed(() => session.appendMessage(message("b"), null));
    await changed(() => session.selectBranch("a"));
    await changed(() => session.addCompaction("In short.", many(4)[0]?.id ?? "", many(4)[1]?.id ?? ""));
    await changed(async () => session.removeCompaction((await session.getCompactions())[0]?.id ?? ""));
    await changed(() => session.deleteMessages(["b"]));
    await changed(() => session.replaceContextBlock("memory", "coffee"));
    await changed(() => store.blocks.delete({ sessionId: "main", kind: "block", label: "memory" }));
    await changed(() => store.entries.set({ sessionId: "main", label: "facts" }, { key: "sky", content: "blue" }));
    await changed(() => store.entries.delete({ sessionId: "main", label: "facts" }, "sky"));
    await changed(() => manager.rename("main", "Another name"));
    await changed(() => manager.addUsage("main", 10, 2));
    await changed(() => session.clearMessages());
    await changed(() => session.appendMessage(message("a")));
    const before = await own.change();
    await sessionOf("second").appendMessage(message("elsewhere"));
    expect(await own.change()).toBe(before);
    await manager.delete("main");
    expect(await own.change()).toBe("");
    await changed(() => sessionOf("main").appendMessage(message("anew")));
  });
});
