import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionManager } from "../../../src/index.js";
import { answer, FACTS, question, said, shownIn } from "../../chat-of-questions.js";

const NAMES = Object.keys(FACTS);
/** Each question, and one that is asked before it: the next one of the list, or the last. */
const NEIGHBOURS = NAMES.flatMap((name, at) =>
  [NAMES.at(at - 1), NAMES[at + 1]].flatMap((first) => (first === undefined ? [] : [[first, name] as const])),
);

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
