import { describe, expect, it } from "vitest";
import { sqlite } from "../../../../../store/src/sqlite.js";
import { AgentContextProvider } from "../../../../src/context/providers/store-context.js";

const code = (code: string) => expect.objectContaining({ code });

describe("AgentContextProvider", () => {
  it("keeps content and counts versions", async () => {
    const provider = new AgentContextProvider(sqlite(":memory:"), "memory");
    expect(await provider.get()).toBeNull();
    expect(await provider.read()).toBeNull();
    expect(await provider.set("one")).toEqual({ content: "one", version: 1 });
    expect(await provider.append("\ntwo")).toEqual({ content: "one\ntwo", version: 2 });
    expect(await provider.get()).toBe("one\ntwo");
  });

  it("refuses a write whose expected version is stale", async () => {
    const provider = new AgentContextProvider(sqlite(":memory:"), "memory");
    await provider.set("one", { expectedVersion: 0 });
    await expect(provider.set("two", { expectedVersion: 0 })).rejects.toEqual(code("BLOCK_CONFLICT"));
    await provider.set("two", { expectedVersion: 1 });
    expect(await provider.get()).toBe("two");
  });

  it("keeps the sessions of a store apart", async () => {
    const provider = new AgentContextProvider(sqlite(":memory:"), "memory");
    const [one, two] = [provider.forSession("1"), provider.forSession("2")];
    await one.set("of one");
    expect(await two.get()).toBeNull();
    expect(await provider.get()).toBeNull();
    expect(await provider.forSession("1").get()).toBe("of one");
    expect(one.forSession("1")).toBe(one);
    expect(provider.forSession("")).toBe(provider);
    expect(() => one.forSession("2")).toThrow(code("SESSION_ID_BOUND"));
  });

  it("is one for all sessions when shared", async () => {
    const store = sqlite(":memory:");
    await new AgentContextProvider(store, "team", { shared: true }).forSession("1").set("for all");
    expect(await new AgentContextProvider(store, "team", { shared: true }).forSession("2").get()).toBe("for all");
  });

  it("never takes one label and session for another", async () => {
    const store = sqlite(":memory:");
    await new AgentContextProvider(store, "a_b").forSession("c").set("1");
    expect(await new AgentContextProvider(store, "a").forSession("b_c").get()).toBeNull();
    expect(await new AgentContextProvider(store, "A_B").forSession("c").get()).toBeNull();
  });

  it("refuses text that a database cannot keep, and changes nothing", async () => {
    const provider = new AgentContextProvider(sqlite(":memory:"), "memory");
    await provider.set("one");
    await expect(provider.set("a\0b")).rejects.toEqual(code("INVALID_TEXT"));
    await expect(provider.append("\ud83d")).rejects.toEqual(code("INVALID_TEXT"));
    expect(await provider.read()).toEqual({ content: "one", version: 1 });
  });

  it("says what a store is when it is given something else", async () => {
    await expect(new AgentContextProvider({}, "memory").get()).rejects.toEqual(code("STORE_UNSUPPORTED"));
    expect(() => new AgentContextProvider(sqlite(":memory:"), "")).toThrow(code("INVALID_ARGUMENT"));
  });
});
