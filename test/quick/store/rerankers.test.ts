import type { RerankingModelV3 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { Observed } from "../../../packages/store/src/contract/observer.js";
import { memory } from "../../../packages/store/src/memory.js";
import { redactStore } from "../../../packages/store/src/redact/redact-store.js";
import type { RerankFunction } from "../../../packages/store/src/rerank/rerankers.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { observeStore } from "../../../packages/telemetry/src/observe-store.js";
import { textMessage } from "../../helpers/messages.js";

const away: RerankFunction = () => new Promise(() => {});

async function filled(count = 3) {
  const store = memory();
  await store.session("s").append(Array.from({ length: count }, (_, at) => textMessage(`m${at}`, `zebra <m${at}>`)));
  return store;
}

const idsOf = (hits: readonly { id: string }[]) => hits.map(({ id }) => id);
const find = async (store: ReturnType<typeof memory>, limit = 9) => idsOf(await store.search("zebra", { limit }));

/** The relevance that a model gives the passages, in its own order. */
function model(specificationVersion: string, rank: (values: string[]) => { index: number; relevanceScore: number }[]) {
  const asked: object[] = [];
  return {
    asked,
    specificationVersion: specificationVersion as "v3",
    provider: "mine",
    modelId: "reads",
    doRerank: async (options: Parameters<RerankingModelV3["doRerank"]>[0]) => {
      asked.push(options);
      return { ranking: rank(options.documents.values as string[]) };
    },
  } satisfies RerankingModelV3 & { asked: object[] };
}

describe("a reranker", () => {
  it.each(["v3", "v4"])("may be a reranking model of the AI SDK, of specification %s", async (version) => {
    const store = await filled();
    const before = await find(store);
    const best = model(version, (values) =>
      values.map((_, place) => ({ index: values.length - 1 - place, relevanceScore: 1 - place / 10 })),
    );
    expect(await find(store.withReranker(best))).toEqual(before.toReversed());
    expect(best.asked).toMatchObject([{ query: "zebra", documents: { type: "text" } }]);
    expect(best.asked[0]).toHaveProperty("abortSignal");
    // It may rank the best ones only: the others come behind them.
    const top = model(version, (values) => [{ index: values.length - 1, relevanceScore: 1 }]);
    expect(await find(store.withReranker(top))).toEqual([before.at(-1), ...before.slice(0, -1)]);
    await store.close();
  });

  it("may have no time for some, which come behind the others in their order, but for none it fails", async () => {
    const store = await filled();
    const before = await find(store);
    const errors: unknown[] = [];
    const lastOnly = store.withReranker((_, passages) =>
      passages.map((_, at) => (at + 1 < passages.length ? null : 1)),
    );
    expect(await find(lastOnly)).toEqual([before.at(-1), ...before.slice(0, -1)]);
    const none = store.withReranker((_, passages) => passages.map(() => null), {
      onError: (error) => errors.push(error),
    });
    expect(await find(none)).toEqual(before);
    expect(errors).toMatchObject([{ code: "RERANKER_FAILED" }]);
    await store.close();
  });

  it("costs its timeout and no more, each search by itself", async () => {
    const store = await filled();
    const errors: unknown[] = [];
    const slow = store.withReranker(away, { timeout: 300, onError: (error) => errors.push(error) });
    const started = performance.now();
    const searches = await Promise.all(Array.from({ length: 20 }, () => find(slow)));
    const taken = performance.now() - started;
    expect(taken).toBeGreaterThanOrEqual(290);
    expect(taken).toBeLessThan(1_500);
    expect(new Set(searches.map(String)).size).toBe(1);
    expect(errors).toHaveLength(20);
    await store.close();
  });

  it("that answers late, or throws after its time, harms nobody", async () => {
    const store = await filled();
    const before = await find(store);
    let signal: AbortSignal | undefined;
    const late = store.withReranker(
      async (_query, _passages, options) => {
        ({ signal } = options);
        await new Promise((go) => setTimeout(go, 30));
        throw new Error("late");
      },
      { timeout: 5 },
    );
    expect(await find(late)).toEqual(before);
    expect(signal?.aborted).toBe(true);
    await new Promise((go) => setTimeout(go, 60));
    await store.close();
  });

  it("takes what an array of numbers is, of any size", async () => {
    const store = await filled();
    const before = await find(store);
    const typed = store.withReranker((_query, passages) => Float32Array.from(passages, (_, at) => at) as never);
    expect(await find(typed)).toEqual(before.toReversed());
    const huge = store.withReranker((_query, passages) => passages.map((_, at) => (at - 1) * Number.MAX_VALUE));
    expect(await find(huge)).toEqual(before.toReversed());
    const tiny = store.withReranker((_query, passages) => passages.map((_, at) => at * Number.MIN_VALUE));
    expect(await find(tiny)).toEqual(before.toReversed());
    await store.close();
  });

  it("is asked about 2,000 characters of a query at most, and nothing where nothing matches", async () => {
    const store = await filled();
    const queries: string[] = [];
    const asked = store.withReranker((query, passages) => {
      queries.push(query);
      return passages.map(() => 0);
    });
    await asked.search("zebra ".repeat(20_000), { limit: 3 });
    await asked.search("z", { limit: 3 });
    await asked.search("the of what", { limit: 3 });
    await asked.search("\ud800", { limit: 3 });
    expect(queries.map(({ length }) => length)).toEqual([2_000]);
    await store.close();
  });

  it("serves many searches at once", async () => {
    const store = (await filled()).withReranker(async (_query, passages) => passages.map((_, at) => at));
    const found = await Promise.all(
      Array.from({ length: 1_000 }, (_, at) => store.search(`zebra ${at % 7}`, { limit: 1, offset: at % 3 })),
    );
    expect(new Set(found.map(([hit]) => hit?.id)).size).toBe(3);
    await store.close();
  });

  it("is refused by a store without search, and where it is none", async () => {
    const plain = sqlite(":memory:", { search: false });
    expect(() => plain.withReranker(() => [])).toThrow(/withReranker\(\) needs a store with search/);
    expect(() => plain.withReranker(() => [])).toThrow(expect.objectContaining({ code: "SEARCH_UNAVAILABLE" }));
    for (const wrong of [null, {}, "cohere", { specificationVersion: "v3" }]) {
      expect(() => memory().withReranker(wrong as never)).toThrow(/takes a function, or a reranking model/);
    }
    for (const wrong of [{ candidates: 0 }, { candidates: 1.5 }, { timeout: -1 }, { timeout: 2 ** 31 }, { topN: 3 }]) {
      expect(() => memory().withReranker(() => [], wrong as never)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
    }
    await plain.close();
  });

  it("is told to an observer, on whichever side of it the reranker is given", async () => {
    const seen: [string, unknown][] = [];
    const observer = <T>(told: Observed, work: (within: <P>(part: () => P) => P) => T): T => {
      const result = work((part) => part());
      if (told.type === "rerank" && result instanceof Promise) {
        result.then(
          () => seen.push([told.name, told.values?.[0]]),
          (error) => seen.push([told.name, error.code]),
        );
      }
      return result;
    };
    const store = await filled();
    const inverse: RerankFunction = (_query, passages) => passages.map((_, at) => at);
    const above = observeStore(store.withReranker(inverse), observer, { statements: false });
    const below = observeStore(store, observer, { statements: false }) as typeof store;
    await above.forUser("ada").search("zebra", { limit: 3 });
    await above.search("zebra", { limit: 3 });
    await below.withReranker(() => []).search("zebra", { limit: 3 });
    expect(seen).toEqual([
      ["rerank", "zebra"],
      ["rerank", "RERANKER_FAILED"],
    ]);
    await store.close();
  });

  it("reads what redaction left, on whichever side it is given", async () => {
    const texts: string[] = [];
    const reading: RerankFunction = (query, passages) => {
      texts.push(query, ...passages);
      return passages.map(() => 0);
    };
    const redact = (text: string) => text.replaceAll("secret", "•");
    for (const wrap of [
      (store: ReturnType<typeof memory>) => redactStore(store.withReranker(reading), redact),
      (store: ReturnType<typeof memory>) => redactStore(store, redact).withReranker(reading),
    ]) {
      const store = wrap(memory());
      await store.session("s").append([textMessage("a", "zebra secret")]);
      await store.search("zebra secret", { limit: 1 });
      await store.close();
    }
    expect(texts).toEqual(["zebra •", "zebra •", "zebra •", "zebra •"]);
  });
});
