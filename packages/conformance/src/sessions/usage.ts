import { expect, expectError } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

const today = () => new Date().toISOString().slice(0, 10);

/** Usage of sessions, by day and model. */
export const usage = defineTopic("usage", (it) => {
  it("counts each request for its session, day and model", async ({ store }) => {
    for (const id of ["main", "second"]) await store.session(id).append([message("a")]);
    const day = today();
    await store.sessions.addUsage("main", 100, 10, 0.5, "large");
    await store.sessions.addUsage("main", 50, 5, 0.25, "large");
    await store.sessions.addUsage("main", 1, 1, 0);
    await store.sessions.addUsage("second", 7, 3, 2, "small");
    const large = { day, model: "large", requests: 2, inputTokens: 150, outputTokens: 15, cost: 0.75 };
    const rows = await store.sessions.usageRows("main");
    // Unless midnight came between.
    if (day === today()) {
      expect(rows).toEqual([{ day, model: "", requests: 1, inputTokens: 1, outputTokens: 1, cost: 0 }, large]);
    }
    const names = async (request: Parameters<typeof store.sessions.usage>[0]) =>
      (await store.sessions.usage(request)).map(({ name, requests, inputTokens }) => [name, requests, inputTokens]);
    expect(await names({ by: "model" })).toEqual([
      ["small", 1, 7],
      ["large", 2, 150],
      ["", 1, 1],
    ]);
    expect(await names({ by: "session" })).toEqual([
      ["second", 1, 7],
      ["main", 3, 151],
    ]);
    expect(await names({ by: "model", sessionId: "second", limit: 1 })).toEqual([["small", 1, 7]]);
    expect(await names({ by: "session", to: "2020-01-01" })).toEqual([]);
    expect((await store.sessions.get("main"))?.input_tokens).toBe(151);
    await expectError(store.sessions.addUsage("none", 1, 1, 0), "SESSION_NOT_FOUND");
  });

  it("brings along what was counted elsewhere, and forgets what a deleted session used", async ({ store }) => {
    await store.session("main").append([message("a")]);
    const old = { day: "2025-03-01", model: "large", requests: 3, inputTokens: 30, outputTokens: 6, cost: 1.5 };
    await store.sessions.importUsage("main", { inputTokens: 30, outputTokens: 6, cost: 1.5 }, [old]);
    expect(await store.sessions.usageRows("main")).toEqual([old]);
    expect((await store.sessions.get("main"))?.output_tokens).toBe(6);
    const grown = { ...old, requests: 4, inputTokens: 40, cost: 1 };
    await store.sessions.importUsage("main", { inputTokens: 10, outputTokens: 0, cost: 0 }, [grown]);
    expect(await store.sessions.usageRows("main")).toEqual([{ ...grown, cost: 1.5 }]);
    await store.sessions.addUsage("main", 1, 1, 0, "large");
    expect((await store.sessions.usage({ by: "day" })).map(({ name }) => name)).toEqual([today(), "2025-03-01"]);
    expect((await store.sessions.usage({ by: "day", to: "2025-12-31" })).length).toBe(1);
    await store.sessions.delete("main");
    expect([await store.sessions.usageRows("main"), await store.sessions.usage({ by: "day" })]).toEqual([[], []]);
  });

  it("shows one user's only to that user", async ({ store }) => {
    const [ada, bob] = [store.forUser("ada"), store.forUser("bob")];
    await ada.session("main").append([message("a")]);
    await bob.session("second").append([message("a")]);
    await ada.sessions.addUsage("main", 5, 1, 0, "large");
    await bob.sessions.addUsage("second", 6, 1, 0, "large");
    const sums = async (of: typeof store, userId?: string) =>
      (await of.sessions.usage({ by: "session", userId })).map(({ name }) => name);
    expect([await sums(ada), await sums(bob), await sums(store, "bob")]).toEqual([["main"], ["second"], ["second"]]);
    expect([await sums(ada, "bob"), await bob.sessions.usageRows("main")]).toEqual([[], []]);
  });

  it("finds sessions by a part of their names", async ({ manager, store }) => {
    for (const name of ["Tea in Lima", "100% tea", "Coffee"]) await manager.create(name);
    const names = async (nameContains: string) =>
      (await store.sessions.list({ nameContains })).sessions.map(({ name }) => name).sort();
    expect(await names("TEA")).toEqual(["100% tea", "Tea in Lima"]);
    expect(await names("%")).toEqual(["100% tea"]);
    expect(await names("cocoa")).toEqual([]);
    expect((await names("")).length).toBe(3);
  });

  it("lists the sessions that were forked or split off one", async ({ session, store, manager }) => {
    await session.appendAll([message("a"), message("b")]);
    const fork = await manager.fork("main", "a", "fork");
    const split = await manager.compactAndSplit("main", "In short.");
    await manager.fork(fork.id, "a", "fork of the fork");
    const children = async (parentSessionId: string) =>
      (await store.sessions.list({ parentSessionId })).sessions.map(({ id }) => id).sort();
    expect(await children("main")).toEqual([fork.id, split.id].sort());
    expect(await children("nowhere")).toEqual([]);
  });
});
