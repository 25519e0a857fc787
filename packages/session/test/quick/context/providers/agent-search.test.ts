import { describe, expect, it } from "vitest";
import { estimateStringTokens } from "../../../../../model/src/messages/tokens.js";
import { sqlite } from "../../../../../store/src/sqlite.js";
import { AgentSearchProvider } from "../../../../src/context/providers/agent-search.js";

const code = (code: string) => expect.objectContaining({ code });

describe("AgentSearchProvider", () => {
  it("counts its entries", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    expect(await provider.get()).toBeNull();
    await provider.set("a", "one");
    expect(await provider.get()).toBe("1 entry indexed.");
    await provider.set("b", "two");
    await provider.set("b", "two again");
    expect(await provider.get()).toBe("2 entries indexed.");
  });

  it("finds entries by what they say, the best first, as text", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    await provider.set("deploy", "Deployments happen on Friday.\nFriday at noon.");
    await provider.set("lunch", "Lunch is on Friday.");
    await provider.set("日本語", "東京都に住んでいます");
    expect(await provider.search("when is the deployment on Friday?")).toBe(
      "[deploy]\nDeployments happen on Friday.\nFriday at noon.\n\n[lunch]\nLunch is on Friday.",
    );
    expect(await provider.search("京都")).toBe("[日本語]\n東京都に住んでいます");
    for (const query of ["nothing", "", '"', "* OR NOT", "a:b"]) expect(await provider.search(query)).toBeNull();
  });

  it("gives ten entries at most", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    for (let index = 0; index < 12; index++) await provider.set(`k${index}`, `apple ${index}`);
    expect((await provider.search("apple"))?.split("\n\n")).toHaveLength(10);
  });

  it("gives the best entry whole, and pieces of others where there is little room", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    const filler = "some other words ".repeat(600);
    await provider.set("best", `apple apple apple apple ${filler}`);
    for (let index = 0; index < 9; index++)
      await provider.set(`k${index}`, `${filler} an apple in the middle ${filler}`);
    const [best = "", ...others] = (await provider.search("apple"))?.split("\n\n") ?? [];
    expect(best).toBe(`[best]\napple apple apple apple ${filler}`);
    expect(others).toHaveLength(9);
    for (const other of others) expect(other).toMatch(/^\[k\d\]\n….*an apple in the middle.*…$/);
    expect(estimateStringTokens(others.join("\n\n"))).toBeLessThanOrEqual(2_020);
  });

  it("updates what the index knows of an entry", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    await provider.set("a", "apples");
    await provider.set("a", "pears");
    expect(await provider.search("apples")).toBeNull();
    await provider.append("a", "and plums");
    expect(await provider.search("plums")).toBe("[a]\npears\nand plums");
    await provider.append("b", "new");
    expect(await provider.search("new")).toBe("[b]\nnew");
  });

  it("bounds an append", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    await provider.set("a", "x".repeat(36));
    await expect(provider.append("a", "y".repeat(8), { maxTokens: 10 })).rejects.toEqual(code("BLOCK_OVER_BUDGET"));
    await provider.append("a", " z", { maxTokens: 10 });
  });

  it("keeps sessions and labels apart, unless it is shared", async () => {
    const store = sqlite(":memory:");
    const provider = new AgentSearchProvider(store);
    const [one, two] = [provider.forSession("1"), provider.forSession("2")];
    one.init("kb");
    two.init("kb");
    await one.set("a", "secret of one");
    expect(await two.get()).toBeNull();
    expect(await two.search("secret")).toBeNull();
    expect(await new AgentSearchProvider(store, "other").forSession("1").get()).toBeNull();
    const shared = new AgentSearchProvider(store, { shared: true });
    shared.forSession("1").init("team");
    await shared.forSession("1").set("a", "for all");
    const again = new AgentSearchProvider(store, { shared: true });
    again.init("team");
    expect(await again.forSession("2").search("all")).toBe("[a]\nfor all");
  });

  it("can be used before a block uses it", async () => {
    const store = sqlite(":memory:");
    const provider = new AgentSearchProvider(store);
    await provider.set("early", "written before init");
    expect(await provider.search("init")).toBe("[early]\nwritten before init");
    provider.init("knowledge");
    expect(await provider.get()).toBeNull();
    expect(await new AgentSearchProvider(store).get()).toBe("1 entry indexed.");
  });

  it("keeps a label that was given, and serves one block otherwise", async () => {
    const store = sqlite(":memory:");
    const named = new AgentSearchProvider(store, "kb");
    named.init("other");
    await named.set("a", "x");
    expect(await new AgentSearchProvider(store, "kb").get()).toBe("1 entry indexed.");
    const provider = new AgentSearchProvider(store);
    provider.init("one");
    provider.init("one");
    expect(() => provider.init("two")).toThrow(code("INVALID_ARGUMENT"));
  });

  it("refuses keys and contents that a database cannot keep", async () => {
    const provider = new AgentSearchProvider(sqlite(":memory:"), "kb");
    await expect(provider.set("a\0", "x")).rejects.toEqual(code("INVALID_TEXT"));
    await expect(provider.set("a", "\ud800")).rejects.toEqual(code("INVALID_TEXT"));
    await expect(provider.set("", "x")).rejects.toEqual(code("INVALID_ARGUMENT"));
    expect(await provider.get()).toBeNull();
  });
});
