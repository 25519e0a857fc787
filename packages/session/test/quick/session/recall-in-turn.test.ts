import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cpuTime } from "../../../../../test/helpers/cpu-time.js";
import { patience } from "../../../../../test/helpers/patience.js";
import { type RecalledPlace, SessionManager } from "../../../src/index.js";

/** What a user told once, what is asked about it, and the answer that repeats it. */
const FACTS: Readonly<Record<string, readonly [fact: string, question: string, answer: string]>> = {
  dog: ["Has a beagle, a dog called Biscuit.", "What's my dog called?", "Your dog, a beagle, is called Biscuit."],
  work: ["Works as a nurse at Northgate Hospital.", "Where do I work?", "You work as a nurse at Northgate Hospital."],
  allergy: ["Is allergic to peanuts.", "What am I allergic to?", "You are allergic to peanuts."],
  car: ["Drives a green Saab car from 1994.", "Which car do I drive?", "You drive a green Saab car from 1994."],
  sister: ["Her sister Clara lives in Lisbon.", "Where does my sister live?", "Your sister Clara lives in Lisbon."],
  birthday: ["Her birthday is on 14 March.", "When is my birthday?", "Your birthday is on 14 March."],
  coffee: ["Drinks coffee with oat milk.", "How do I take my coffee?", "You drink your coffee with oat milk."],
  guitar: ["Plays a Gibson guitar on Tuesdays.", "Which guitar do I play?", "You play a Gibson guitar on Tuesdays."],
  marathon: [
    "Ran the marathon of Boston in 2019.",
    "Which marathon did I run?",
    "You ran the marathon of Boston in 2019.",
  ],
  dentist: [
    "Her dentist is Dr. Okafor in Mill Street.",
    "Who's my dentist?",
    "Your dentist is Dr. Okafor in Mill Street.",
  ],
  wifi: ["The wifi password hangs behind the fridge.", "Where's the wifi password?", "It hangs behind the fridge."],
  shoes: ["Wears shoes of size 39.", "What shoe size do I wear?", "You wear shoes of size 39."],
  book: ["Her favourite book is Middlemarch.", "What's my favourite book?", "Your favourite book is Middlemarch."],
  garden: ["Grows tomatoes and basil in the garden.", "What's in my garden?", "You grow tomatoes and basil there."],
  bank: ["Has an account with Triodos bank.", "Which bank am I with?", "You have an account with Triodos bank."],
  flight: ["Sits by the window on a flight.", "Which seat on a flight?", "You sit by the window on a flight."],
  school: ["Went to school in Aberdeen.", "Where did I go to school?", "You went to school in Aberdeen."],
  bike: ["Her bike was stolen in June.", "When was my bike stolen?", "Your bike was stolen in June."],
  phone: ["Her phone is a Fairphone.", "What phone do I have?", "Your phone is a Fairphone."],
  wine: ["Prefers dry white wine from Alsace.", "What wine do I prefer?", "You prefer dry white wine from Alsace."],
};
const NAMES = Object.keys(FACTS);
/** Each question, and one that is asked before it: the next one of the list, or the last. */
const NEIGHBOURS = NAMES.flatMap((name, at) =>
  [NAMES.at(at - 1), NAMES[at + 1]].flatMap((first) => (first === undefined ? [] : [[first, name] as const])),
);

const said = (id: string, role: string, text: string) => ({ id, role, parts: [{ type: "text", text }] });
const question = (name: string) => FACTS[name]?.[1] as string;
const answer = (name: string) => FACTS[name]?.[2] as string;

interface Chat {
  readonly questions: readonly string[];
  readonly answers: readonly string[];
}

/** The names of what a chat shows behind its last question. */
async function shownIn(store: Store, { questions, answers }: Chat): Promise<string[]> {
  const session = SessionManager.create(store).forUser("ada").getSession("now");
  const shown: RecalledPlace[] = [];
  for (const [at, text] of questions.entries()) {
    await session.appendMessage(said(`q${at}`, "user", text));
    shown.push(...(await session.prepareTurn({ recall: {} })).recalled.results);
    if (at < answers.length) await session.appendMessage(said(`a${at}`, "assistant", answers[at] as string));
  }
  await session.clearMessages();
  return shown.map((place) => (place.kind === "entry" ? place.key : place.sessionId));
}

/** Of which neighbours the question of the second, behind that of the first, does not recall its fact. */
async function missed(store: Store, answerOf: (name: string) => string): Promise<string[]> {
  const missing: string[] = [];
  for (const [first, next] of NEIGHBOURS) {
    const chat = { questions: [question(first), question(next)], answers: [answerOf(first)] };
    if (!(await shownIn(store, chat)).includes(next)) missing.push(`${first} > ${next}`);
  }
  return missing;
}

const KINDS: Readonly<Record<string, (store: Store, name: string, text: string) => Promise<unknown>>> = {
  facts: (store, key, content) => store.entries.set({ sessionId: "", scope: "user", label: "facts" }, { key, content }),
  "facts under a label each": (store, key, content) =>
    store.entries.set({ sessionId: "", scope: "user", label: `about ${key}` }, { key, content }),
  messages: (store, id, text) => SessionManager.create(store).append(id, said(id, "user", text)),
};

for (const [kind, tell] of Object.entries(KINDS)) {
  describe(`a chat of short questions about ${kind}`, () => {
    const store = memory();
    const ada = store.forUser("ada");
    beforeAll(async () => {
      for (const name of NAMES) await tell(ada, name, FACTS[name]?.[0] as string);
    });
    afterAll(() => store.close());

    it("recalls behind each other question what the question recalls alone", async () => {
      for (const name of NAMES) {
        expect(await shownIn(ada, { questions: [question(name)], answers: [] })).toContain(name);
      }
      expect(await missed(ada, () => "I see.")).toEqual([]);
    });

    it("does so where the answer repeats what was recalled", async () => {
      expect(await missed(ada, answer)).toEqual([]);
    });

    it("does so behind talk that other facts fit to better", async () => {
      const talk = "I baked bread with Clara, a nurse from Boston; we drank wine, and my beagle sat by the window.";
      for (const name of NAMES) {
        const chat = { questions: [talk, question(name)], answers: ["What a day: bread, wine and a beagle!"] };
        expect(await shownIn(ada, chat)).toContain(name);
      }
    });

    it("recalls each fact once in a chat of all questions", async () => {
      const found = await shownIn(ada, { questions: NAMES.map(question), answers: NAMES.map(answer) });
      expect(found.toSorted()).toEqual(NAMES.toSorted());
    });
  });
}

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
