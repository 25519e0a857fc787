import { localModel } from "stemma/local";
import { memory } from "stemma/memory";
import { SessionManager, type SessionMessage } from "stemma/session";
import { afterAll, describe, expect, it } from "vitest";
import { longestHold } from "../../helpers/longest-hold.js";
import { patience } from "../../helpers/patience.js";
import { findModels } from "../../local/models.js";

const models = findModels();
const said = (id: string, text: string): SessionMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

describe.skipIf(models === null)("a local model", async () => {
  if (models === null) return;
  const model = await localModel({ model: `${models}/all-MiniLM-L6-v2` });
  const rerank = model.reranker({ timeBudget: 60_000 });
  afterAll(() => model.close());

  it("scores the passage highest that means what the query asks for, in the order of the passages", async () => {
    const passages = ["Ann: The rent is due on Monday.", "Ann: My kitten is ill.", "Ann: We took the train to Rome."];
    const scores = (await rerank("How is your cat doing?", passages)) as number[];
    expect(scores).toHaveLength(3);
    expect(Math.max(...scores)).toBe(scores[1]);
    // Whatever else is scored, a passage has one score.
    const [again] = await localModel({ model: `${models}/all-MiniLM-L6-v2`, pooling: "cls" }).then(async (other) => {
      const alone = await other.reranker({ timeBudget: 60_000 })("How is your cat doing?", [passages[1] as string]);
      await other.close();
      return alone;
    });
    expect(again).toBe(scores[1]);
    expect(await rerank("How is your cat doing?", passages.toReversed())).toEqual(scores.toReversed());
  });

  it("makes vectors of length one, which are alike for texts that are", async () => {
    const { embed, dimensions, id } = model.embedder({ minSimilarity: 0.2 });
    if (typeof embed !== "function") throw new TypeError("It is a function.");
    expect({ dimensions, id }).toEqual({ dimensions: 384, id: model.id });
    expect(model.dimensions).toBe(384);
    const texts = ["a kitten", "a young cat", "interest rates", ""];
    const vectors = await embed(texts, { signal: new AbortController().signal });
    const likeness = (a: number, b: number) =>
      (vectors[a] ?? []).reduce((sum, value, i) => sum + value * (vectors[b]?.[i] ?? 0), 0);
    for (const index of texts.keys()) expect(likeness(index, index)).toBeCloseTo(1, 4);
    expect(likeness(0, 1)).toBeGreaterThan(likeness(0, 2) + 0.2);
  });

  it("finds by meaning in a store", async () => {
    const store = memory().withEmbedder(model.embedder({ minSimilarity: 0.3 }));
    const manager = SessionManager.create(store);
    await manager.appendAll("s", [said("1", "The feline is poorly."), said("2", "The rent is due.")]);
    await store.embeddings.flush();
    const found = await manager.search("sick cat");
    expect(found.map(({ content }) => content)).toEqual(["The feline is poorly."]);
    await store.close();
  });

  it("lets words that it does not know count for nothing", async () => {
    expect(await rerank("🜁 🜂", ["🜁 🜂", "a cat", ""])).toEqual([0, 0, 0]);
    const [unknown = 1, known = 0] = await rerank("cat", ["🜁 🜂 🜃", "a cat"]);
    expect(unknown).toBe(0);
    expect(known).toBeGreaterThan(0.5);
  });

  it.each([
    ["of 100 kB", "where did the cat go ".repeat(5_000)],
    ["of one word of 100 kB", "x".repeat(100_000)],
    ["of stop words", "the of and what"],
    ["of one character", "?"],
    ["without a character", ""],
    ["with half a character", "cat \ud83d"],
  ])("takes a query %s", async (_, query) => {
    const scores = await rerank(query, ["a cat", "", "x".repeat(100_000), "\udc00"]);
    expect(scores).toHaveLength(4);
    expect(scores.every(Number.isFinite)).toBe(true);
  });

  it("gives no score where there is no passage", async () => {
    expect(await rerank("cat", [])).toEqual([]);
  });

  it("scores only the first passages when its time is over, and gives null for the others", async () => {
    const passages = Array.from(
      { length: 2_000 },
      (_, i) => `We spoke about ${i} cats, and about the weather in Rome.`,
    );
    const scores = await model.reranker({ timeBudget: 300 })("cats in Rome", passages);
    const first = scores.indexOf(null);
    expect(first).toBeGreaterThan(0);
    expect(scores).toHaveLength(passages.length);
    expect(scores.slice(first).every((score) => score === null)).toBe(true);
  });

  it("gives each of many that come at once some scores, and none longer than its time", async () => {
    const passages = Array.from({ length: 50 }, (_, i) => `${i} `.repeat(30) + "cats went to Rome ".repeat(15));
    const timeBudget = patience(1_500);
    const began = performance.now();
    const all = await Promise.all(
      Array.from({ length: 8 }, () => model.reranker({ timeBudget })("cats in Rome", passages)),
    );
    expect(performance.now() - began).toBeLessThan(timeBudget + patience(500));
    const counts = all.map((scores) => scores.filter((score) => score !== null).length);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(5);
  });

  it("refuses what would wait too long, and goes on with the others", async () => {
    const few = Array.from({ length: 10_000 }, (_, i) =>
      model
        .reranker({ timeBudget: patience(1_000) })(`cat ${i}`, ["a cat", "a dog"])
        .catch((error) => error.code),
    );
    const results = await Promise.all(few);
    expect(new Set(results.filter((result) => !Array.isArray(result)))).toEqual(new Set(["MODEL_BUSY"]));
    expect(results.filter(Array.isArray).length).toBeGreaterThan(20);
    expect(await rerank("cat", ["a cat"])).toHaveLength(1);
  });

  it("stops for an abort, whose reason it gives, and answers whoever else waits", async () => {
    const passages = Array.from({ length: 3_000 }, (_, i) => `We spoke about ${i} cats.`);
    const controller = new AbortController();
    const aborted = rerank("cats", passages, { signal: controller.signal });
    const other = rerank("cats", ["a cat", "a dog"]);
    setTimeout(() => controller.abort(new Error("enough")), 20);
    await expect(aborted).rejects.toThrow("enough");
    expect(await other).toHaveLength(2);
    await expect(rerank("cats", passages, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
      "before",
    );
  });

  it("holds up nobody", async () => {
    const passages = Array.from({ length: 50 }, () => "We went to Rome and saw many cats on the roofs.");
    const held: number[] = [];
    // Whatever else the machine does holds it up too, but not each time.
    for (let round = 0; round < 5; round += 1) held.push(await longestHold(() => rerank("cats in Rome", passages)));
    expect(Math.min(...held)).toBeLessThan(patience(20));
  });

  it("is one thread for a process, which ends with the last that uses it", async () => {
    const [one, two] = await Promise.all([
      localModel({ model: `${models}/token-counter` }),
      localModel({ model: `${models}/token-counter` }),
    ]);
    expect(one.id).toBe(two.id);
    await one.close();
    await one.close();
    await expect(one.reranker()("cat", ["a cat"])).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE" });
    expect(await two.reranker()("cat", ["a cat"])).toHaveLength(1);
    await two.close();
  });

  it("that is a cross-encoder gives its own score, and makes no vectors", async () => {
    const counter = await localModel({ model: `${models}/token-counter` });
    // With the mark at the end of the passage.
    expect(await counter.reranker()("cat", ["a cat", "", "a cat and a dog"])).toEqual([3, 1, 6]);
    expect(counter.dimensions).toBe(null);
    expect(() => counter.embedder()).toThrow(expect.objectContaining({ code: "MODEL_UNAVAILABLE" }));
    await counter.close();
  });

  it("refuses options that there are not", async () => {
    expect(() => model.reranker({ budget: 3 } as never)).toThrow(/timeBudget; "budget" is none/);
    await expect(localModel({ dtype: "q9" as never })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(localModel({ folder: "x" } as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
