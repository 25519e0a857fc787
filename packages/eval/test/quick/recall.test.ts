import { estimateStringTokens, type SessionMessage } from "@stemma/model";
import { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { haystacks } from "../../src/haystack.js";
import { recallPage } from "../../src/html.js";
import { evaluateQa } from "../../src/qa.js";
import { compareRecall, evaluateRecall, parseRecallReport, type RecallReport } from "../../src/recall.js";
import { asked, type EvalConversation, type EvalSet, said } from "../../src/set.js";

/** A conversation of two sessions; its second message holds the answer. */
function conversation(name: string, thing: string): EvalConversation {
  const sessions = [
    {
      id: "s1",
      messages: [
        said("1", "user", "Good morning."),
        said("2", "user", `The ${thing} is in the cellar.`, { name: "Ada" }),
      ],
    },
    { id: "s2", messages: [said("3", "user", "It rains."), said("4", "assistant", "Take an umbrella.")] },
  ];
  const questions = [
    asked(sessions, { text: `Where is the ${thing}?`, category: "place", evidence: ["2"], answer: "in the cellar" }),
    asked(sessions, { text: `Who sold the ${thing}?`, category: "unanswerable", evidence: [] }),
  ];
  return { name, sessions, questions };
}

const set: EvalSet = {
  name: "made up",
  conversations: [conversation("a", "bicycle"), conversation("b", "piano"), conversation("c", "ladder")],
};

/** A store whose search finds nothing. */
function blind(): Store {
  const store = memory();
  return Object.assign(Object.create(store) as Store, { search: async () => [] });
}

describe("evaluateRecall", () => {
  it("measures a store beside bare BM25, by category, and what is quoted without an answer", async () => {
    const report = await evaluateRecall(set);
    expect(report).toMatchObject({
      set: "made up",
      conversations: 3,
      total: { questions: 3, stemma: { "R@5": 1, MRR: 1, quoted: 1, "session any@5": 1 }, bm25: { "R@5": 1, MRR: 1 } },
      categories: [{ category: "place", questions: 3 }],
      unanswerable: { questions: 3, stemma: { "R@5": null } },
      overBm25: { "R@10": { mean: 0, low: 0, high: 0 } },
    });
    expect(report.unanswerable?.stemma.tokens).toBeGreaterThan(10);
    expect(report.smallTalk).toBe(0);
    expect(report.total.stemma.p95).toBeGreaterThanOrEqual(report.total.stemma.p50);
    expect(report.questions.length).toBe(6);
    expect(parseRecallReport(JSON.parse(JSON.stringify(report)))).toEqual(JSON.parse(JSON.stringify(report)));
  });

  it("asks each question behind another one too, and counts what both quote", async () => {
    const [first] = conversation("a", "bicycle").sessions as { id: string; messages: SessionMessage[] }[];
    const sessions = [
      { id: "s1", messages: [...(first?.messages ?? []), said("5", "user", "Her dog is called Biscuit.")] },
    ];
    const questions = [
      asked(sessions, { text: "Where is the bicycle?", category: "place", evidence: ["2"], answer: "in the cellar" }),
      asked(sessions, { text: "Her dog?", category: "pet", evidence: ["5", "2"] }),
    ];
    const { questions: results, total } = await evaluateRecall({
      name: "chat",
      conversations: [{ name: "a", sessions, questions }],
    });
    expect(results.map(({ stemma }) => [stemma.quoted, stemma["quoted in chat"]])).toEqual([
      [1, null],
      [0.5, 1],
    ]);
    expect([total.stemma["quoted in chat"], total.bm25["quoted in chat"]]).toEqual([1, null]);
  });

  it("puts conversations into one store, and counts what is found of another for nothing", async () => {
    let opened = 0;
    const openStore = () => {
      opened += 1;
      return memory();
    };
    const same = [conversation("a", "piano"), conversation("b", "piano")];
    const { total, options } = await evaluateRecall(
      { name: "same", conversations: same },
      { openStore, together: true },
    );
    expect(opened).toBe(1);
    expect(options.together).toBe(true);
    // Both say the same, so one of the two is found second.
    expect(total.stemma).toMatchObject({ "any@5": 1, MRR: 0.75 });
  });

  it("waits for a store's embedder, and closes each store", async () => {
    const log: string[] = [];
    const openStore = () => {
      const store = memory();
      const embeddings = { flush: async () => log.push("flush") };
      return Object.assign(Object.create(store) as Store, { embeddings, close: async () => log.push("close") });
    };
    await evaluateRecall(set, { openStore, limitConversations: 2 });
    expect(log).toEqual(["flush", "close", "flush", "close"]);
  });

  it("asks a store that is filled already, and leaves it open", async () => {
    const store = memory();
    const [a] = [conversation("a", "bicycle")];
    for await (const { id, messages } of a.sessions) await store.session(id).append(messages);
    const { total } = await evaluateRecall({ name: "own", conversations: [a], store });
    expect(total.stemma["any@5"]).toBe(1);
    expect(await store.sessions.count()).toBe(2);
    await store.close();
  });

  it("closes the store where a search fails", async () => {
    let closed = false;
    const openStore = () =>
      Object.assign(Object.create(memory({})) as Store, {
        search: () => Promise.reject(new RangeError("broken")),
        close: async () => {
          closed = true;
        },
      });
    await expect(evaluateRecall(set, { openStore })).rejects.toThrow("broken");
    expect(closed).toBe(true);
  });

  it("refuses a set without questions, and options that there are none of", async () => {
    await expect(evaluateRecall({ name: "empty", conversations: [] })).rejects.toThrow(
      /holds no question that has an answer/,
    );
    await expect(
      evaluateRecall({ name: "one", conversations: [conversation("a", "x")] }, { half: "test" }),
    ).rejects.toThrow(/its test half, holds no question/);
    await expect(evaluateRecall(set, { halves: "dev" } as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(evaluateRecall(set, { limitConversations: 0 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("finds Chinese words with bare BM25 too", async () => {
    const sessions = [{ id: "s", messages: [said("1", "user", "东京的天气很好。"), said("2", "user", "我喜欢茶。")] }];
    const questions = [asked(sessions, { text: "东京天气怎么样？", category: "k", evidence: ["1"] })];
    const { total } = await evaluateRecall({ name: "zh", conversations: [{ name: "a", sessions, questions }] });
    expect([total.stemma.MRR, total.bm25.MRR]).toEqual([1, 1]);
  });
});

it("quotes what prepareTurn quotes", async () => {
  for await (const haystack of haystacks({ ...set, conversations: [conversation("a", "bicycle")] }, {}, false)) {
    const [asking] = haystack.asking;
    const { quote, quoted } = await haystack.ask(asking as never);
    const store = memory().forUser("ada");
    const manager = SessionManager.create(store);
    for await (const { id, messages } of conversation("a", "bicycle").sessions)
      await manager.appendAll(`a/${id}`, messages);
    await manager.append("now", { id: "q", role: "user", parts: [{ type: "text", text: "Where is the bicycle?" }] });
    const turn = await manager.getSession("now").prepareTurn({ recall: {} });
    const shown = turn.messages.at(-1)?.parts.at(-1)?.text ?? "";
    // Messages of no date have the day on which they were stored.
    const dateless = (text: string) => text.replace(/\d{4}-\d\d-\d\d/g, "");
    expect(dateless(quote)).toBe(dateless(shown));
    expect(turn.recalled.results).toEqual(
      quoted.map(({ sessionId, id }) => ({ kind: "message", sessionId: `a/${sessionId}`, messageId: id })),
    );
    expect(estimateStringTokens(quote)).toBeLessThanOrEqual(1000);
    await store.close();
  }
});

describe("compareRecall", () => {
  it("tells a certain loss from none", async () => {
    const good = await evaluateRecall(set);
    const bad = await evaluateRecall(set, { openStore: blind });
    expect(compareRecall(good, good).lost).toEqual([]);
    expect(compareRecall(good, bad).lost).toEqual([]);
    const { lost, differences } = compareRecall(bad, good);
    expect(lost).toContain("R@10");
    expect(differences["R@10"]).toEqual({ mean: -1, low: -1, high: -1 });
  });

  it("takes a loss that half of the conversations do not have for none that is certain", async () => {
    const good = await evaluateRecall(set);
    const questions = good.questions.map((question) =>
      question.conversation === "a" ? { ...question, stemma: { ...question.stemma, "R@10": 0 } } : question,
    );
    expect(compareRecall({ ...good, questions }, good).lost).toEqual([]);
  });

  it("refuses a run of other questions, and what is no report", async () => {
    const all = await evaluateRecall(set);
    const some = await evaluateRecall(set, { limitConversations: 1 });
    expect(() => compareRecall(all, some)).toThrow(/asked other questions: 1 of made up, this one 3 of made up/);
    expect(() => compareRecall(all, {} as RecallReport)).toThrow(/no report of `stemma eval recall`/);
    expect(() => parseRecallReport([])).toThrow(/no report/);
  });
});

it("makes a page on which no text of a set is markup", async () => {
  const sessions = [{ id: "s", messages: [said("1", "user", "Something else.")] }];
  const text = "Where is <script>alert(1)</script>?";
  const questions = [{ text, category: "<b>", evidence: ["1"], sessions: ["s"] }];
  const report = await evaluateRecall({ name: "<i>set</i>", conversations: [{ name: "a", sessions, questions }] });
  const page = recallPage(report, compareRecall(report, report));
  expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(page).not.toMatch(/<script|<i>set|<b><|src=|href=|null|undefined|NaN/);
  expect(page).toContain("No loss is certain.");
});

describe("evaluateQa", () => {
  it("asks the reader with what was found, and the judge with what is correct", async () => {
    const prompts: string[] = [];
    const judged: string[] = [];
    const report = await evaluateQa(set, {
      reader: async (prompt) => {
        prompts.push(prompt);
        return prompt.includes("Question: Where") ? "It is in the cellar." : "Bo sold it.";
      },
      judge: async (prompt) => {
        judged.push(prompt);
        return prompt.includes("do not hold the answer") ? "No, it claims to know." : "**Yes**";
      },
      limitConversations: 1,
    });
    expect(report.total).toMatchObject({ questions: 2, correct: 0.5, unclear: 0, failed: 0 });
    expect(report.categories.map(({ category, correct }) => [category, correct])).toEqual([
      ["place", 1],
      ["unanswerable", 0],
    ]);
    expect(prompts[0]).toContain("> user Ada: The bicycle is in the cellar.");
    expect(judged[0]).toContain("The correct answer: in the cellar");
    expect(judged[1]).not.toContain("correct answer:");
    expect(report.questions[0]).toMatchObject({
      expected: "in the cellar",
      answer: "It is in the cellar.",
      verdict: "correct",
    });
  });

  it("counts what is unclear as wrong, and what failed not at all", async () => {
    let calls = 0;
    const judge = async () => {
      calls += 1;
      if (calls === 1) return "Perhaps";
      if (calls === 2) throw new RangeError("too many requests");
      return "yes";
    };
    const { total, questions } = await evaluateQa(set, { reader: async () => "…", judge, concurrency: 1 });
    expect(total).toMatchObject({ questions: 6, correct: 4 / 5, unclear: 1, failed: 1 });
    expect(questions[1]).toMatchObject({ verdict: "failed", answer: "too many requests" });
  });

  it("gives up where a model is not there", async () => {
    let calls = 0;
    const reader = () => {
      calls += 1;
      return Promise.reject(new RangeError("no such host"));
    };
    await expect(evaluateQa(set, { reader, judge: reader, concurrency: 1 })).rejects.toThrow("no such host");
    expect(calls).toBe(5);
  });

  it("shows as many tokens as it may, and refuses a set that tells no answers", async () => {
    const options = { reader: async () => "", judge: async () => "no" };
    const { total } = await evaluateQa(set, { ...options, maxTokens: 10 });
    expect(total.tokens).toBe(0);
    const questions = [{ text: "?", category: "k", evidence: ["2"], sessions: ["s1"] }];
    const conversations = [{ ...conversation("a", "x"), questions }];
    await expect(evaluateQa({ name: "x", conversations }, options)).rejects.toThrow(
      /no question whose answer it tells/,
    );
    await expect(evaluateQa(set, { reader: options.reader } as never)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });
});
