import type { SessionInfo, SessionListRequest, Store } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

async function paged(store: Store, request: SessionListRequest): Promise<SessionInfo[]> {
  const all: SessionInfo[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.sessions.list({ ...request, cursor });
    all.push(...page.sessions);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

const idsOf = (sessions: readonly SessionInfo[]) => sessions.map(({ id }) => id);

/** Sessions in their orders, page by page; how long they are; what compactions saved. */
export const sessionLists = defineTopic("session lists", (it) => {
  it("lists sessions by tokens and by cost, page by page", async ({ store }) => {
    const used = [
      ["a", 10, 5, 3],
      ["b", 500, 1, 0.25],
      ["c", 0, 15, 0.5],
      ["d", 7, 0, 0.25],
    ] as const;
    for (const [id, input, output, cost] of used) {
      await store.session(id).append([message("q")]);
      await store.sessions.addUsage(id, input, output, cost);
    }
    await store.session("none").append([message("q")]);
    const byTokens = idsOf((await store.sessions.list({ orderBy: "tokens" })).sessions);
    expect([byTokens[0], byTokens.slice(1, 3).sort(), byTokens.slice(3)]).toEqual(["b", ["a", "c"], ["d", "none"]]);
    const byCost = idsOf((await store.sessions.list({ orderBy: "cost" })).sessions);
    expect([byCost.slice(0, 2), byCost.slice(2, 4).sort(), byCost[4]]).toEqual([["a", "c"], ["b", "d"], "none"]);
    for (const limit of [1, 2, 4]) {
      expect(idsOf(await paged(store, { orderBy: "tokens", limit }))).toEqual(byTokens);
      expect(idsOf(await paged(store, { orderBy: "cost", limit }))).toEqual(byCost);
    }
    const page = await store.sessions.list({ orderBy: "cost", limit: 1 });
    await expectError(
      store.sessions.list({ orderBy: "tokens", cursor: page.nextCursor as string }),
      "INVALID_ARGUMENT",
    );
  });

  it("lists sessions as they were registered, the latest first, whatever is written to them", async ({ store }) => {
    const ids = ["b", "a", "d", "c"];
    for (const id of ids) {
      await store.session(id).append([message("q")]);
      // The clock goes on: not every store counts its sessions.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await store.session("b").append([message("later")]);
    for (const limit of [1, 3, 10]) {
      expect(idsOf(await paged(store, { orderBy: "registered", limit }))).toEqual([...ids].reverse());
    }
  });

  it("lists the ids of no session under which something is kept", async ({ store }) => {
    expect(await store.sessions.unregistered()).toEqual([]);
    await store.session("a session").append([message("q")]);
    for (const sessionId of ["", "Stemma:x", "a session", "other"]) {
      await store.records.set({ sessionId, label: "marks" }, "k", Uint8Array.of(1));
    }
    await store.blocks.set({ sessionId: "", kind: "block", label: "shared" }, "tea");
    await store.blocks.set({ sessionId: "", kind: "block", label: "of a key", scope: { key: "team" } }, "tea");
    expect(await store.sessions.unregistered()).toEqual(["", "Stemma:x", "other"]);
    expect(await store.sessions.unregistered({ after: "", limit: 1 })).toEqual(["Stemma:x"]);
    expect(await store.forUser("ada").sessions.unregistered()).toEqual([]);
  });

  it("lists sessions by how many messages they have on all branches, page by page", async ({ store }) => {
    for (const [id, messages] of Object.entries({ two: 2, none: 0, five: 5, three: 3 })) {
      await store.sessions.create({ id, name: id });
      const written = Array.from({ length: messages }, (_, index) => message(`m${index}`));
      if (messages > 0) await store.session(id).append(written);
    }
    // Siblings, behind which the path is short.
    for (const id of ["b1", "b2", "b3", "b4"]) await store.session("two").append([message(id)], null);
    const order = ["two", "five", "three", "none"];
    for (const limit of [1, 2, 3, 4]) {
      expect(idsOf(await paged(store, { orderBy: "messages", limit }))).toEqual(order);
    }
    const named = await paged(store, { orderBy: "messages", limit: 1, nameContains: "e" });
    expect(idsOf(named)).toEqual(["five", "three", "none"]);
  });

  it("lists sessions by their latest change, whatever that was", async ({ store }) => {
    const ids = Array.from({ length: 9 }, (_, index) => `s${index}`);
    const ada = store.forUser("ada");
    for (const [index, id] of ids.entries()) {
      await (index % 2 === 0 ? ada : store).session(id).append([message("q")]);
    }
    // Appends, one soon after the other, and other writes.
    for (const id of ["s3", "s8", "s3", "s0"]) await store.session(id).append([message(crypto.randomUUID())]);
    await store.sessions.update("s5", { name: "Five" });
    await store.session("s8").delete(["q"]);
    for (const filter of [{}, { userId: "ada" }, { idPrefix: "s" }, { nameContains: "S" }]) {
      const all = (await store.sessions.list(filter)).sessions;
      const times = all.map((info) => info.updated_at);
      expect(times).toEqual(times.slice().sort().reverse());
      for (const limit of [1, 2, 5]) expect(idsOf(await paged(store, { ...filter, limit }))).toEqual(idsOf(all));
      for (const info of all) expect(info).toEqual(await store.sessions.get(info.id));
    }
    expect(idsOf((await store.sessions.list({})).sessions).sort()).toEqual(ids);
  });

  it("knows how long a session is, also behind what it counted before", async ({ store }) => {
    const own = store.session("main");
    const long = Array.from({ length: 1100 }, (_, index) => message(`m${index}`));
    await own.append(long);
    const lengths = async () => [await own.length(), await own.count(), await own.length("m1049")];
    expect(await lengths()).toEqual([1100, 1100, 1050]);
    await own.append([message("more")]);
    expect(await lengths()).toEqual([1101, 1101, 1050]);
    await own.append([message("side"), message("side-2")], "m9");
    expect(await lengths()).toEqual([12, 1103, 1050]);
    expect(await own.length("more")).toBe(1101);
    await own.delete(["m5", "m700"]);
    expect(await lengths()).toEqual([11, 1101, 1048]);
    expect(await own.length("more")).toBe(1099);
    await own.clear();
    expect([await own.length(), await own.count()]).toEqual([0, 0]);
    await own.append([message("anew")]);
    expect([await own.length(), await own.count()]).toEqual([1, 1]);
  });

  it("sums up what compactions cover, and what their summaries take", async ({ store }) => {
    const ada = store.forUser("ada");
    const own = ada.session("main");
    await own.append(["a", "b", "c", "d", "e"].map((id) => message(id, "word ".repeat(100))));
    await own.append([message("aside", "word ".repeat(100))], "b");
    const each = (await own.tokens("b")) / 2;
    const made = { summary: "In short.", fromMessageId: "a" };
    await own.addCompaction({ ...made, id: "first", toMessageId: "c" });
    const after = await own.tokens("c");
    // The second covers the first, which stood there as a summary.
    await own.addCompaction({ ...made, id: "second", toMessageId: "d" });
    const sums = (request: Partial<Parameters<typeof store.sessions.compactionSums>[0]> = {}, of = store) =>
      of.sessions.compactionSums({ by: "session", ...request });
    expect(await sums({ by: "compaction", sessionId: "main" })).toEqual([
      { name: "first", compactions: 1, tokensBefore: 3 * each, tokensAfter: after },
      { name: "second", compactions: 1, tokensBefore: after + each, tokensAfter: after },
    ]);
    const whole = { compactions: 2, tokensBefore: 4 * each + after, tokensAfter: 2 * after };
    expect(await sums()).toEqual([{ name: "main", ...whole }]);
    const today = (await own.compactions())[0]?.createdAt.slice(0, 10) as string;
    expect(await sums({ by: "day", from: today, to: today })).toEqual([{ name: today, ...whole }]);
    expect(await sums({ by: "day", to: "2020-01-01" })).toEqual([]);
    expect([await sums({ userId: "bob" }), await sums({}, store.forUser("bob"))]).toEqual([[], []]);
    expect([await sums({ userId: "ada" }), await sums({}, ada)]).toEqual([await sums(), await sums()]);
    await store.sessions.fork("main", "e", { id: "fork", name: "fork" });
    expect((await sums()).map(({ name }) => name).sort()).toEqual(["fork", "main"]);
    await own.removeCompaction("second");
    await store.sessions.delete("fork");
    expect((await sums())[0]?.compactions).toBe(1);
    await store.sessions.delete("main");
    expect(await sums()).toEqual([]);
  });
});
