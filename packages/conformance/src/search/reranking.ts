import type { EmbeddableStore, RerankFunction } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";
import { hashingEmbedder } from "./hashing-embedder.js";

const NEEDS = ["search", "embeddings"] as const;

/** Prefers passages that hold a text. */
const preferring =
  (text: string): RerankFunction =>
  (_query, passages) =>
    passages.map((passage) => Number(passage.includes(text)));

/** Prefers the passages that stood last. */
const inverse: RerankFunction = (_query, passages) => passages.map((_, place) => place);

/** Messages that match alike, each with a name of its own. */
async function alike(workspace: Workspace, count: number): Promise<string[]> {
  await workspace.session.appendAll(numbered("m", count).map((id) => message(id, `zebra <${id}>`)));
  return idsOf(await workspace.session.search("zebra", { limit: count }));
}

/** Rerankers that fail, by what is said of it; each is given the signal of its call. */
const FAILURES: Record<string, RerankFunction> = {
  "threw: no model": () => {
    throw new Error("threw: no model");
  },
  "rejected: no network": async () => Promise.reject(new Error("rejected: no network")),
  "it gave 1 scores": () => [1],
  "it gave no scores": (() => null) as never,
  "no finite number for passage 2": (_query, passages) => passages.map((_, place) => (place === 1 ? Number.NaN : 1)),
  "no answer within 20 ms": () => new Promise(() => {}),
};

/** Search with a reranker. */
export const reranking = defineTopic("reranking", (it) => {
  it(
    "finds by one that knows what is asked for all that was among the candidates, and no more",
    NEEDS,
    async (workspace) => {
      const before = await alike(workspace, 70);
      for (const [place, id] of before.entries()) {
        const { manager } = workspace.rerank(preferring(`<${id}>`));
        const found = idsOf(await manager.search("zebra", { limit: 70 }));
        expect(found.indexOf(id)).toBe(place < 50 ? 0 : place);
      }
    },
  );

  it("lets one that inverts turn the candidates round, and nothing behind them", NEEDS, async (workspace) => {
    const before = await alike(workspace, 70);
    const { session } = workspace.rerank(inverse);
    const expected = [...before.slice(0, 50).reverse(), ...before.slice(50)];
    const hits = await session.search("zebra", { limit: 70 });
    expect(idsOf(hits)).toEqual(expected);
    const scores = hits.map(({ score }) => score as number);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(hits.map(({ rerankScore = null }) => rerankScore).slice(49, 51)).toEqual([0, null]);
    const few = workspace.rerank(inverse, { candidates: 3 }).session;
    expect(idsOf(await few.search("zebra", { limit: 5 }))).toEqual([2, 1, 0, 3, 4].map((place) => before[place]));
  });

  it("changes nothing where all scores are equal", NEEDS, async (workspace) => {
    const before = await alike(workspace, 8);
    const { session } = workspace.rerank((_query, passages) => passages.map(() => 0.1));
    expect(idsOf(await session.search("zebra"))).toEqual(before);
  });

  it("goes on in one order from page to page, and asks for each question once", NEEDS, async (workspace) => {
    await alike(workspace, 70);
    let calls = 0;
    const { session, manager } = workspace.rerank((query, passages, options) => {
      calls += 1;
      return inverse(query, passages, options);
    });
    for (const of of [session, manager]) {
      const whole = await of.search("zebra", { limit: 70 });
      const paged: typeof whole = [];
      let cursor: string | null = null;
      do {
        const page: { results: typeof whole; nextCursor: string | null } = await of.searchPage("zebra", {
          limit: 8,
          cursor,
        });
        paged.push(...page.results);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(paged).toEqual(whole);
    }
    expect(calls).toBe(1);
  });

  it("goes on by words where the first page was by words", NEEDS, async (workspace) => {
    const before = await alike(workspace, 12);
    let isAway = true;
    const reranker: RerankFunction = (query, passages, options) => {
      if (isAway) throw new Error("away");
      return inverse(query, passages, options);
    };
    const first = await workspace.rerank(reranker).session.searchPage("zebra", { limit: 5 });
    isAway = false;
    // As in another process.
    const { session } = workspace.rerank(reranker);
    const next = await session.searchPage("zebra", { limit: 9, cursor: first.nextCursor });
    expect(idsOf([...first.results, ...next.results])).toEqual(before);
    expect(idsOf(await session.search("zebra"))).toEqual(before.toReversed());
  });

  it("answers by words where the reranker fails, and says so", NEEDS, async (workspace) => {
    await alike(workspace, 12);
    const plain = await workspace.store.search("zebra", { limit: 5, offset: 2 });
    for (const [why, reranker] of Object.entries(FAILURES)) {
      const errors: unknown[] = [];
      const { store } = workspace.rerank(reranker, { timeout: 20, onError: (error) => void errors.push(error) });
      expect(await store.search("zebra", { limit: 5, offset: 2 })).toEqual(plain);
      expect(errors.map((error) => (error as { code?: string }).code)).toEqual(["RERANKER_FAILED"]);
      const [hit] = await store.search("zebra", { limit: 1, explain: true });
      expect(hit?.explanation?.reranker?.failure?.includes(why)).toBe(true);
      expect([hit?.explanation?.reranker?.from, hit?.explanation?.reranker?.score]).toEqual([1, null]);
    }
  });

  it("waits no longer when the search is aborted, and tells the reranker", NEEDS, async (workspace) => {
    const before = await alike(workspace, 4);
    const signals: AbortSignal[] = [];
    const reranker: RerankFunction = (_query, _passages, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    };
    const { session, manager } = workspace.rerank(reranker, { timeout: 1_000_000 });
    const abort = new AbortController();
    const searching = [
      session.search("zebra", { signal: abort.signal }),
      manager.search("zebra", { signal: abort.signal }),
    ];
    while (signals.length < 2) await new Promise((go) => setTimeout(go, 1));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    abort.abort();
    for (const found of searching) expect(idsOf(await found)).toEqual(before);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(idsOf(await session.search("zebra", { signal: abort.signal }))).toEqual(before);
    expect(signals.length).toBe(2);
  });

  it("leaves out what is below the threshold, on the scale of the reranker", NEEDS, async (workspace) => {
    const before = await alike(workspace, 60);
    const { session, store } = workspace.rerank(inverse);
    const found = await session.search("zebra", { threshold: 47 });
    expect(found.map(({ rerankScore }) => rerankScore)).toEqual([49, 48, 47]);
    expect(idsOf(await session.search("zebra", { threshold: 50 }))).toEqual([]);
    expect((await store.search("zebra", { threshold: 0, limit: 100 })).length).toBe(50);
    const page = await session.searchPage("zebra", { threshold: 47, limit: 2 });
    expect(
      idsOf((await session.searchPage("zebra", { threshold: 47, limit: 2, cursor: page.nextCursor })).results),
    ).toEqual([before[47]]);
    await expectError(session.search("zebra", { threshold: 1, rerank: false }), "INVALID_ARGUMENT");
    await expectError(workspace.session.search("zebra", { threshold: 1 }), "INVALID_ARGUMENT");
    await expectError(workspace.manager.search("zebra", { threshold: 1 }), "INVALID_ARGUMENT");
    await expectError(session.search("zebra", { threshold: Number.NaN }), "INVALID_ARGUMENT");
    const away = workspace.rerank(() => []);
    expect(idsOf(await away.session.search("zebra", { threshold: 47, limit: 60 }))).toEqual(before);
  });

  it("asks no reranker where the search says so", NEEDS, async (workspace) => {
    const before = await alike(workspace, 6);
    const { session, store } = workspace.rerank(inverse);
    expect(idsOf(await session.search("zebra", { rerank: false }))).toEqual(before);
    expect(idsOf(await workspace.session.search("zebra", { rerank: false }))).toEqual(before);
    const [hit] = await store.search("zebra", { limit: 1, rerank: false, explain: true });
    expect([hit?.explanation?.ranks.words, hit?.explanation?.reranker]).toEqual([1, undefined]);
  });

  it("explains the place before, and the score", NEEDS, async (workspace) => {
    await alike(workspace, 60);
    const { store } = workspace.rerank(inverse);
    const hits = await store.search("zebra", { limit: 2, explain: true });
    expect(hits.map(({ explanation }) => explanation?.reranker)).toEqual([
      { from: 50, score: 49, failure: null },
      { from: 49, score: 48, failure: null },
    ]);
    const [behind] = await store.search("zebra", { limit: 1, offset: 55, explain: true });
    expect(behind?.explanation?.reranker).toEqual({ from: 56, score: null, failure: null });
  });

  it(
    "shows the sender and the stretch of a long message that tells most, and cuts the snippet from it",
    NEEDS,
    async (workspace) => {
      const filler = (word: string) => Array.from({ length: 400 }, (_, index) => `${word}${index}`).join(" ");
      const answer = "The ferry to Lisbon leaves at nine from the old harbour.";
      const text = `We like Lisbon. ${filler("left")} ${answer} ${filler("right")}`;
      await workspace.session.appendAll([
        { ...message("long", text), metadata: { name: "Ada" } },
        message("short", "Lisbon, then."),
      ]);
      let seen: string[] = [];
      const { session } = workspace.rerank((_query, passages) => {
        seen = passages;
        return passages.map(({ length }) => length);
      });
      const [hit] = await session.search("when does the ferry to Lisbon leave");
      const passage = seen.find((each) => each.startsWith("Ada: ")) ?? "";
      expect(passage.includes(answer)).toBe(true);
      expect(passage.length > 300 && passage.length < 700).toBe(true);
      expect(seen.includes("Lisbon, then.")).toBe(true);
      const shown = hit?.snippet?.replaceAll(/[«»]/g, "") ?? "";
      expect(shown.startsWith("…") && shown.endsWith("…") && shown.includes("ferry to Lisbon")).toBe(true);
      expect(passage.includes(shown.slice(1, -1))).toBe(true);
    },
  );

  it("is asked before and after an embedder is given, and the last one of two", NEEDS, async (workspace) => {
    const before = await alike(workspace, 6);
    const store = workspace.store as EmbeddableStore;
    const embedder = { ...hashingEmbedder({ dimensions: 64 }), minSimilarity: 0.99 };
    const both = [
      store.withEmbedder(embedder).withReranker(inverse),
      store.withReranker(inverse).withEmbedder(embedder),
    ];
    for (const each of both) {
      await each.embeddings.flush();
      const plain = await each.search("zebra", { limit: 9, rerank: false });
      expect(idsOf(await each.search("zebra", { limit: 9 }))).toEqual(idsOf(plain).toReversed());
    }
    const twice = store.withReranker(inverse).withReranker(preferring(`<${before[3]}>`));
    expect(idsOf(await twice.search("zebra", { limit: 9 }))[0]).toBe(before[3]);
    for (const each of both) await each.close();
  });

  it("counts words beside its numbers, and not the similarity that an embedder finds by", NEEDS, async (workspace) => {
    const texts = [
      "The restaurant in Lisbon",
      "A resturant",
      "Lisbon, Lisbon!",
      "Restaurants",
      "It rained in Lisbon",
      "Fish",
    ];
    await workspace.session.appendAll(texts.map((text, at) => message(`m${at}`, text)));
    const embedder = { ...hashingEmbedder({ dimensions: 64 }), minSimilarity: 0.2 };
    const store = (workspace.store as EmbeddableStore).withEmbedder(embedder);
    await store.embeddings.flush();
    const search = (reranker: RerankFunction, options: object) =>
      store.withReranker(reranker).search("restaurant Lisbon", { limit: 9, explain: true, ...options });
    const before = await search(inverse, { rerank: false });
    const meant = before.map(({ explanation }) => explanation?.meaning ?? 0);
    const own = before.map(({ score }, at) => score - (meant[at] as number));
    expect(meant.some((each) => each > 0) && own.includes(0)).toBe(true);
    const middle = (own.length - 1) / 2;
    const deviation = Math.sqrt(own.reduce((sum, _, at) => sum + (at - middle) ** 2, 0) / own.length);
    const expected = before
      .map(({ id }, at) => ({ id, score: (own[at] as number) / Math.max(...own) + (0.2 * (at - middle)) / deviation }))
      .sort((a, b) => b.score - a.score);
    const hits = await search(inverse, {});
    expect(idsOf(hits)).toEqual(idsOf(expected));
    expect(hits.every(({ score }, at) => Math.abs(score - (expected[at]?.score ?? 9)) < 1e-9)).toBe(true);
    expect(idsOf(await search((_query, passages) => passages.map(() => 1), {}))).toEqual(idsOf(before));
    await store.close();
  });

  it("reranks what one user may find, and entries", NEEDS, async (workspace) => {
    const { manager, store } = workspace.rerank(inverse);
    const user = manager.forUser("ada");
    for (const id of ["one", "two"]) await user.append("a", message(id, "zebra"));
    await manager.forUser("bob").append("b", message("three", "zebra"));
    expect(idsOf(await user.search("zebra"))).toEqual(["one", "two"]);
    const scope = { sessionId: "a", label: "facts" };
    for (const key of ["first-note", "second-note"]) await store.entries.set(scope, { key, content: "zebra" });
    const search = (options: object) => store.entries.search(scope, "zebra", { limit: 5, ...options });
    const keysOf = (found: readonly { key: string }[]) => found.map(({ key }) => key);
    const plain = keysOf(await search({ rerank: false }));
    expect(keysOf(await search({}))).toEqual(plain.toReversed());
    expect(keysOf(await search({ limit: 1 }))).toEqual([plain[1]]);
    expect((await search({ threshold: 1 })).map(({ rerankScore }) => rerankScore)).toEqual([1]);
    await expectError(workspace.store.entries.search(scope, "zebra", { limit: 5, threshold: 1 }), "INVALID_ARGUMENT");
    let seen: string[] = [];
    const reading = workspace.rerank((_query, passages) => {
      seen = passages;
      return passages.map(() => 0);
    });
    await reading.store.entries.search(scope, "zebra", { limit: 1 });
    expect(seen.toSorted()).toEqual(["first note: zebra", "second note: zebra"]);
    const away = workspace.rerank(() => []);
    expect(keysOf(await away.store.entries.search(scope, "zebra", { limit: 5 }))).toEqual(plain);
  });

  it("decides what prepareTurn recalls and what the tools show", NEEDS, async (workspace) => {
    const { manager } = workspace.rerank((_query, passages) => passages.map((passage) => Number(/two/.test(passage))));
    const user = manager.forUser("ada");
    for (const id of ["two", "one"]) await user.append("old", message(id, `zebra ${id}`));
    const answer = (await (await user.tools()).session_search?.execute({ query: "zebra" })) ?? "";
    expect(answer.indexOf("two") < answer.indexOf("one")).toBe(true);
    const session = user.getSession("new");
    await session.appendMessage(message("ask", "zebra?"));
    const { recalled } = await session.prepareTurn({ recall: { threshold: 1 } });
    expect(recalled.results.map((each) => (each.kind === "message" ? each.messageId : each.key))).toEqual(["two"]);
  });
});
