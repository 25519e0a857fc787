import type { Observed, Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { AgentSearchProvider, SessionManager } from "../../../src/index.js";

const said = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });

describe("a recall", () => {
  it("that takes too long is left out, and the observer is told why", async () => {
    const failed: string[] = [];
    const store = memory().forUser("ada");
    const slow: Store = {
      ...store,
      search: () => new Promise(() => {}),
      observer: ((told: Observed, work: (within: unknown) => unknown) => {
        const done = work((part: () => unknown) => part());
        if (told.name === "recall") Promise.resolve(done).catch(({ code }) => failed.push(code));
        return done;
      }) as never,
    };
    const manager = SessionManager.create(slow);
    const session = manager.getSession("now");
    await session.appendMessage(said("u1", "Which sauce with peanuts?"));
    const { recalled, messages } = await session.prepareTurn({ recall: { maxMs: 20 } });
    expect(recalled).toMatchObject({ results: [], tokens: 0, isLate: true });
    expect(recalled.ms).toBeGreaterThanOrEqual(19);
    expect(messages.at(-1)?.parts.length).toBe(1);
    expect(failed).toEqual(["RECALL_LATE"]);
    expect((await session.explainContext("u1"))?.recall).toMatchObject({ isLate: true });
    expect(await manager.recall("peanuts", { maxMs: 20 })).toMatchObject({ results: [], text: "", isLate: true });
    await store.close();
  });

  it("is a tool of a manager of one user", async () => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    await ada.append("spring", said("s1", "I am allergic to peanuts."));
    const call = { toolCallId: "1", messages: [] };
    const { recall } = await ada.tools();
    expect(await recall?.execute({ query: "peanuts" }, call)).toContain("I am allergic to peanuts.");
    expect(await recall?.execute({ query: "thanks" }, call)).toBe('Nothing is remembered about "thanks".');
    expect((await SessionManager.create(store).tools()).recall).toBeUndefined();
    await store.close();
  });

  it("shows more of each where few are found, and of many a stretch around the words", async () => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    const long = `${"We spoke at length. ".repeat(20)}The albatross flew. ${"Then we went home. ".repeat(20)}`;
    await ada.append("a", said("s0", long));
    const [one] = (await ada.recall("albatross flight")).results;
    expect(one?.content.length).toBeGreaterThan(400);
    for (let at = 0; at < 9; at += 1) await ada.append(`b${at}`, said(`t${at}`, long));
    const { results, tokens } = await ada.recall("albatross flight");
    expect(results.length).toBe(10);
    expect(tokens).toBeLessThanOrEqual(1000);
    for (const { content } of results)
      expect([content.length < 210, content.includes("albatross")]).toEqual([true, true]);
    await store.close();
  });

  it("hides what a damaged entry stands among, and nothing else", async () => {
    const store = memory().forUser("ada");
    await store.entries.set(
      { sessionId: "", scope: "user", label: "facts" },
      { key: "a", content: "peanuts are fine" },
    );
    await store.entries.set({ sessionId: "", scope: "user", label: "bad" }, { key: "a", content: "peanuts are bad" });
    const { StemmaError } = await import("@stemma/model");
    const search: Store["entries"]["search"] = async (scope, query, options) => {
      if (scope.label === "bad") throw new StemmaError("CORRUPT_ENTRY", {}, "damaged");
      return store.entries.search(scope, query, options);
    };
    const damaged: Store = { ...store, entries: { ...store.entries, search } };
    const recall = (of: Store) => SessionManager.create({ ...of, forUser: () => of }).recall("peanuts");
    expect((await recall(damaged)).results.map(({ content }) => content)).toEqual(["peanuts are fine"]);
    await store.close();
  });

  it("of a manager leaves it to be configured, and registers no session", async () => {
    const store = memory();
    const provider = new AgentSearchProvider(store, {
      label: "facts",
      scopes: [{ scope: "user" }, { scope: { key: "rules" }, name: "rules" }],
    });
    await new AgentSearchProvider(store, { label: "facts", scope: { key: "rules" } }).set("nuts", "No peanuts here.");
    const confined = store.forUser("ada");
    const ada = SessionManager.create(confined);
    expect((await ada.recall("peanuts")).results).toEqual([]);
    ada.withContext("memory", { provider });
    const { recall } = await ada.tools();
    expect(await recall?.execute({ query: "peanuts" }, { toolCallId: "1" })).toContain("No peanuts here.");
    expect((await ada.recall("peanuts")).results).toMatchObject([{ kind: "entry", scopeName: "rules" }]);
    ada.withContext("notes", { scope: "user" });
    expect(await store.sessions.count()).toBe(0);
    await ada.getSession("now").replaceContextBlock("notes", "Likes tea.");
    await expect(async () => ada.withContext("more")).rejects.toMatchObject({ code: "SESSION_STARTED" });
    await store.close();
  });

  it("names an entry by its key, or by its subject where a program made the key", async () => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    const titles: Readonly<Record<string, readonly [title: string, subject?: string]>> = {
      "fact-3f2a": ["home", "home"],
      "fact-3f2b": ["fact"],
      "01ARZ3NDEKTSV4RRFFQ69G5FAV": [""],
      "8c6f5b1e-2f0a-4f7e-9d3c-1b2a3c4d5e6f": ["x: 1", "x: 1"],
      "home-9c1e22ab": ["home"],
      "1764330000000": [""],
      "trip to Lisbon 2026-05-01": ["trip to Lisbon 2026-05-01", "travel"],
      "iPhone 15, size A4": ["iPhone 15, size A4"],
      "маршрут-2": ["маршрут-2"],
    };
    for (const [key, [, subject]] of Object.entries(titles)) {
      const entry = { key, content: "Eats peanuts.", tags: subject === undefined ? [] : [`subject:${subject}`] };
      await ada.store.entries.set({ sessionId: "", scope: "user", label: "facts" }, entry);
    }
    const { results, text } = await ada.recall("peanuts");
    const found = results.flatMap((each) => (each.kind === "entry" ? [[each.key, each.title]] : []));
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.entries(titles).map(([key, [title]]) => [key, title])),
    );
    const lines = text
      .split("\n")
      .filter((line) => line.includes("Eats"))
      .map((line) => line.replace(/\d{4}-\d\d-\d\d/, "…"));
    expect(lines).toContain("> …: Eats peanuts.");
    expect(lines).toContain("> … · home: Eats peanuts.");
    expect(lines).toContain('> … · "x: 1": Eats peanuts.');
    await store.close();
  });
});
