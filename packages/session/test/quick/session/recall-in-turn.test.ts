import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { cpuTime } from "../../../../../test/helpers/cpu-time.js";
import { patience } from "../../../../../test/helpers/patience.js";
import { SessionManager } from "../../../src/index.js";
import { answer, question, said, shownIn } from "../../chat-of-questions.js";

const facts = { sessionId: "", scope: "user", label: "facts" } as const;

describe("a recall in a turn", () => {
  it("finds by the exchange before what a follow-up has no word for", async () => {
    const store = memory();
    const { entries } = store.forUser("ada");
    await entries.set(facts, { key: "dog", content: "Has a beagle, a dog called Biscuit." });
    await entries.set(facts, { key: "checkups", content: "Biscuit has her checkups at Dr. Moss in Elm Street." });
    await entries.set(facts, { key: "bread", content: "Bakes bread on Sundays." });
    const questions = [question("dog"), "And her vet?"];
    const chat = { questions, answers: [answer("dog")] };
    expect(await shownIn(store.forUser("ada"), chat)).toEqual(["dog", "checkups"]);
    await store.close();
  });

  it("quotes a fact again once its text has changed, and no more often", async () => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    const { entries } = ada.store;
    const home = { key: "home", validFrom: "2025-06-01" };
    const session = ada.getSession("now");
    let at = 0;
    const recalled = async () => {
      await session.appendMessage(said(`q${at}`, "user", "Where exactly do I live in Oslo?"));
      const { messages, recalled } = await session.prepareTurn({ recall: {} });
      await session.appendMessage(said(`a${at++}`, "assistant", "I see."));
      const lines = messages.at(-1)?.parts.at(-1)?.text?.split("\n");
      return recalled.results.length === 0 ? null : lines?.at(-1);
    };
    const quote = (text: string) => `> 2025-06-01 · home: ${text}`;
    await entries.set(facts, { ...home, content: "Lives in Oslo." });
    expect([await recalled(), await recalled()]).toEqual([quote("Lives in Oslo."), null]);
    await entries.set(facts, { ...home, content: "Lives in Oslo, Grønland." });
    expect([await recalled(), await recalled()]).toEqual([quote("Lives in Oslo, Grønland."), null]);
    // What says the same is known; what was said before another text is not what the model goes by.
    await entries.set(facts, { ...home, content: "Lives in Oslo, Grønland.", tags: ["home"] });
    expect(await recalled()).toBe(null);
    await entries.set(facts, { ...home, content: "Lives in Oslo." });
    expect([await recalled(), await recalled()]).toEqual([quote("Lives in Oslo."), null]);
    await store.close();
  });

  it.each([
    ["the first ones, of one object", true, true],
    ["the first ones, of two objects", true, false],
    ["later ones, of one object", false, true],
    ["later ones, of two objects", false, false],
  ])("of two turns at once quotes nothing that the other does: %s", async (_, areFirst, isOne) => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    await ada.store.entries.set(facts, { key: "home", content: "Lives in Oslo." });
    await ada.append("then", said("s1", "user", "In Oslo the ferry to Nesodden leaves every hour."));
    const one = ada.getSession("now");
    const other = isOne ? one : SessionManager.create(store).forUser("ada").getSession("now");
    if (!areFirst) await one.prepareTurn();
    await one.appendMessage(said("q1", "user", "Which ferry do I take in Oslo?"));
    const first = one.prepareTurn({ recall: {} });
    await other.appendMessage(said("q2", "user", "And which ferry back to Oslo?"));
    const second = other.prepareTurn({ recall: {} });
    const quoted = (await Promise.all([first, second])).flatMap(({ recalled }) => recalled.results);
    expect(quoted.map(({ kind }) => kind).toSorted()).toEqual(["entry", "message"]);
    expect((await one.prepareTurn({ recall: {} })).messages).toEqual((await second).messages);
    await store.close();
  });

  it("quotes no fact that a tool has read, or that stands there spaced or ended otherwise, and others still", async () => {
    const store = memory();
    const ada = store.forUser("ada");
    const tell = (key: string, content: string) =>
      ada.entries.set({ sessionId: "", scope: "user", label: "facts" }, { key, content });
    await tell("street", "Lives in Berlin.");
    await tell("tea", "Buys tea in Berlin.");
    await tell("sauna", "Likes a sauna in Berlin.");
    const recalled = async (id: string, ...parts: Record<string, unknown>[]) => {
      const session = SessionManager.create(store).forUser("ada").getSession(id);
      await session.appendMessage({ id: "a", role: "assistant", parts: parts as { type: string }[] });
      await session.appendMessage(said("q", "user", "What is there in Berlin?"));
      const { results } = (await session.prepareTurn({ recall: {} })).recalled;
      return results.flatMap((place) => (place.kind === "entry" ? place.key : [])).sort();
    };
    const tool = { type: "tool-look", toolCallId: "c", state: "output-available", input: {} };
    expect(await recalled("none", { type: "text", text: "Hello" })).toEqual(["sauna", "street", "tea"]);
    expect(await recalled("read", { ...tool, output: "[street]\nLives in Berlin.\n\n[sauna]" })).toEqual([
      "sauna",
      "tea",
    ]);
    expect(await recalled("said", { type: "text", text: "I know of one:\nBUYS  TEA IN BERLIN" })).toEqual([
      "sauna",
      "street",
    ]);
    for (const text of ["Lives in Berlin Street.", "Your mother lives in Berlin."])
      expect(await recalled(text, { type: "text", text })).toContain("street");
    await store.close();
  });

  it("finds what stands behind all that is shown already", async () => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    const { entries } = ada.store;
    for (let at = 0; at < 25; at += 1) {
      await entries.set(facts, { key: `walk ${at}`, content: `Walked the dog to the lake, walk ${at}.` });
    }
    await ada.append("spring", said("s1", "user", "On that long walk by the sea we lost the lead of the dog."));
    const session = ada.getSession("now");
    for (let at = 0; at < 60; at += 1) {
      await session.appendMessage(
        said(`t${at}`, at % 2 === 0 ? "user" : "assistant", `The dog, a walk, the lake: ${at}.`),
      );
    }
    const found: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      await session.appendMessage(said(`q${at}`, "user", "Which walk with the dog to the lake?"));
      const { recalled } = await session.prepareTurn({ recall: {} });
      found.push(...recalled.results.map((place) => (place.kind === "entry" ? place.key : place.sessionId)));
      await session.appendMessage(said(`a${at}`, "assistant", "I see."));
    }
    expect(new Set(found).size).toBe(26);
    await store.close();
  });

  it("takes time for a fact of full stops as for any other", async () => {
    const store = memory();
    const ada = SessionManager.create(store).forUser("ada");
    await ada.store.entries.set(facts, { key: "stops", content: `The quince ${".".repeat(100_000)} tart.` });
    const session = ada.getSession("now");
    await session.appendMessage(said("q", "user", "Which quince tart?"));
    const start = cpuTime();
    expect((await session.prepareTurn({ recall: { maxMs: 60_000 } })).recalled.results).toHaveLength(1);
    expect(cpuTime() - start).toBeLessThan(patience(2_000));
    await store.close();
  });
});
