// One file, because all cases run on each engine, beside LangGraph's own store.
import { Embeddings } from "@langchain/core/embeddings";
import { InMemoryStore, InvalidNamespaceError, type SearchItem } from "@langchain/langgraph-checkpoint";
import { beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../../packages/stemma/src/index.js";
import { StemmaStore } from "../../../packages/stemma/src/langgraph.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeEngines } from "../../langgraph/stores.js";

/** Vectors of how often a few words are in a text. */
function countingEmbeddings() {
  const vectorOf = (text: string) => ["green", "tea", "grass", "black"].map((word) => text.split(word).length - 1);
  return new (class extends Embeddings {
    embedDocuments = async (texts: string[]) => texts.map(vectorOf);
    embedQuery = async (text: string) => vectorOf(text);
  })({});
}

describeEngines((open) => {
  let host: Store;
  let store: StemmaStore;
  beforeEach(() => {
    host = open();
    store = new StemmaStore(host);
  });

  const keys = async (...search: Parameters<StemmaStore["search"]>) =>
    (await store.search(...search)).map(({ key }) => key);

  describe("an item", () => {
    it("comes back with its place, its value and its times, which an update moves on", async () => {
      const before = Date.now();
      await store.put(["users", "anna"], "tea", { likes: ["green"], strong: false });
      const item = await store.get(["users", "anna"], "tea");
      expect(item).toMatchObject({
        namespace: ["users", "anna"],
        key: "tea",
        value: { likes: ["green"], strong: false },
      });
      expect(item?.createdAt.getTime()).toBeGreaterThanOrEqual(before);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await store.put(["users", "anna"], "tea", { likes: [] });
      const updated = await store.get(["users", "anna"], "tea");
      expect(updated?.value).toEqual({ likes: [] });
      expect(updated?.createdAt).toEqual(item?.createdAt);
      expect(updated?.updatedAt.getTime()).toBeGreaterThan(item?.updatedAt.getTime() ?? 0);
    });

    it("is gone once it was deleted, also where it was put with null", async () => {
      await store.put(["a"], "k", { n: 1 });
      await store.put(["a"], "l", { n: 1 });
      await store.delete(["a"], "k");
      await store.batch([{ namespace: ["a"], key: "l", value: null }]);
      expect([await store.get(["a"], "k"), await store.get(["a"], "l")]).toEqual([null, null]);
      await store.delete(["a"], "k");
      expect(await store.listNamespaces()).toEqual([]);
    });

    it("has any text as its key and as a name, but those that LangGraph forbids", async () => {
      const names = ["a/b", "//", "%2F", "%", "ä", "𝒳", "\ud83d", " ", "0", "a\nb", "*", "constructor", "__proto__"];
      for (const name of names) {
        await store.put(["n", name], name, { name });
        await store.put([name], "\0key", { name });
      }
      for (const name of names) {
        expect(await store.get(["n", name], name)).toMatchObject({
          namespace: ["n", name],
          key: name,
          value: { name },
        });
        expect((await store.search([name]))[0]).toMatchObject({ namespace: [name], key: "\0key", value: { name } });
      }
      expect(await store.search(["n"], { limit: 100 })).toHaveLength(names.length);
      expect(await store.listNamespaces({ limit: 100 })).toHaveLength(2 * names.length);
      await store.put(["a"], "", { empty: true });
      expect((await store.get(["a"], ""))?.value).toEqual({ empty: true });
      for (const bad of [[], [""], ["a.b"], ["a:b"], ["\0"]]) {
        await expect(store.put(bad, "k", {})).rejects.toThrow(InvalidNamespaceError);
        await expect(store.batch([{ namespace: bad, key: "k", value: {} }])).rejects.toThrow(InvalidNamespaceError);
      }
      await expect(store.put(["langgraph"], "k", {})).rejects.toThrow(InvalidNamespaceError);
    });

    it("keeps the fields of an object whatever they are called", async () => {
      const value = JSON.parse('{"__proto__": {"a": 1}, "constructor": null, "a\\u0000b": "\\ud83d", "": []}');
      await store.put(["a"], "k", value);
      expect(JSON.stringify((await store.get(["a"], "k"))?.value)).toBe(JSON.stringify(value));
    });
  });

  describe("a search", () => {
    it("finds what is in and below a namespace, and nothing whose name only begins alike", async () => {
      await store.put(["a"], "1", {});
      await store.put(["a", "b"], "2", {});
      await store.put(["ab"], "3", {});
      await store.put(["a!"], "4", {});
      expect(await keys(["a"])).toEqual(["1", "2"]);
      expect(await keys(["a", "b"])).toEqual(["2"]);
      expect((await keys([])).sort()).toEqual(["1", "2", "3", "4"]);
      expect(await keys(["nothing"])).toEqual([]);
    });

    it("gives pages by limit and offset, ten items where nothing is said", async () => {
      for (let i = 0; i < 250; i += 1) await store.put(["a"], String(i).padStart(3, "0"), { i });
      const all = await keys(["a"], { limit: 1000 });
      expect(all).toHaveLength(250);
      expect(await keys(["a"])).toEqual(all.slice(0, 10));
      expect(await keys(["a"], { limit: 7, offset: 243 })).toEqual(all.slice(243));
      expect(await keys(["a"], { offset: 250 })).toEqual([]);
      expect(await keys(["a"], { limit: 0 })).toEqual([]);
      expect(await keys(["a"], { limit: 5, offset: 3, filter: { i: { $gte: 100 } } })).toEqual(all.slice(103, 108));
    });

    it("compares fields as LangGraph's own store does", async () => {
      const reference = new InMemoryStore();
      const values = [
        { n: 1, s: "a", on: true },
        { n: 2.5, s: "b", on: false },
        { n: 10, s: "10" },
        { s: "9", n: null },
        {},
      ];
      for (const [index, value] of values.entries()) {
        await store.put(["a"], String(index), value);
        await reference.put(["a"], String(index), value);
      }
      const filters: Record<string, unknown>[] = [
        { n: 1 },
        { s: "b", on: false },
        { on: true },
        { missing: 1 },
        ...["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"].flatMap((operator) =>
          [1, 2.5, 100, "10"].map((bound) => ({ n: { [operator]: bound } })),
        ),
        { n: { $gt: 1, $lt: 10 } },
        { s: { $gt: "9" } },
        { n: { $unknown: 1 } },
      ];
      // Where a field is null, LangGraph's own takes it for 0 in a comparison.
      const comparable = (filter: Record<string, unknown>) => !/\$lte?|\$gte?/.test(JSON.stringify(filter));
      for (const filter of filters) {
        const expected = (await reference.search(["a"], { filter })).map(({ key }) => key);
        const given = comparable(filter) ? expected : expected.filter((key) => key !== "3" || !("n" in filter));
        expect([filter, await keys(["a"], { filter })]).toEqual([filter, given]);
      }
      expect(await keys(["a"], { filter: { n: { $in: [1, 10] } } })).toEqual(["0", "2"]);
      expect(await keys(["a"], { filter: { n: { $nin: [1, 10] } } })).toEqual(["1", "3", "4"]);
      await store.put(["a"], "5", { when: "2026-02-01", tags: ["x", { y: 1 }] });
      expect(await keys(["a"], { filter: { when: { $gt: "2026-01-31" } } })).toEqual(["5"]);
      expect(await keys(["a"], { filter: { tags: ["x", { y: 1 }] } })).toEqual(["5"]);
    });

    it("finds the words of a query in any field, best first, below the prefix, and with a filter", async () => {
      await store.put(["docs"], "1", { title: "Brewing green tea", year: 2020 });
      await store.put(["docs", "old"], "2", { body: { text: "Coffee, and some tea" }, year: 1990 });
      await store.put(["docs"], "3", { title: "Sencha", tags: ["green tea", "tea", "tea of Japan"], year: 2024 });
      await store.put(["other"], "4", { title: "tea" });
      expect((await keys(["docs"], { query: "tea" })).sort()).toEqual(["1", "2", "3"]);
      expect((await keys(["docs"], { query: "green tea" })).slice(0, 2).sort()).toEqual(["1", "3"]);
      expect(await keys(["docs"], { query: "tea", filter: { year: { $lt: 2000 } } })).toEqual(["2"]);
      expect(await keys(["docs", "old"], { query: "tea" })).toEqual(["2"]);
      const ranked = await keys(["docs"], { query: "tea" });
      expect(await keys(["docs"], { query: "tea", offset: 1, limit: 1 })).toEqual(ranked.slice(1, 2));
      expect(await keys(["docs"], { query: "milk" })).toEqual([]);
      // A field's name is no text.
      expect(await keys(["docs"], { query: "title" })).toEqual([]);
    });

    it("gives what a query finds a score, as LangGraph's own store with an index does, and nothing else one", async () => {
      const reference = new InMemoryStore({ index: { dims: 4, embeddings: countingEmbeddings() } });
      for (const each of [reference, store]) {
        await each.put(["a"], "both", { text: "green tea" });
        await each.put(["a"], "one", { text: "green grass in a wide field" });
        await each.put(["a"], "twice", { text: "green tea, and more green tea" });
      }
      const shapeOf = ({ score, ...item }: SearchItem) => [Object.keys(item).sort(), typeof score];
      const [expected, found] = [
        await reference.search(["a"], { query: "green tea" }),
        await store.search(["a"], { query: "green tea" }),
      ];
      expect(found.map(shapeOf)).toEqual(expected.map(shapeOf));
      const scores = found.map(({ score }) => score as number);
      expect(scores.every((score) => Number.isFinite(score) && score > 0)).toBe(true);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
      expect(scores[2]).toBeLessThan(scores[1] as number);
      expect(found.at(-1)?.key).toBe("one");
      const page = await store.search(["a"], { query: "green tea", limit: 1, offset: 1 });
      expect(page).toEqual(found.slice(1, 2));
      for (const each of [reference, store]) {
        for (const item of await each.search(["a"])) expect(item.score).toBeUndefined();
        expect(await each.get(["a"], "both")).not.toHaveProperty("score");
      }
    });

    it("goes on until a filter leaves enough", async () => {
      const puts = Array.from({ length: 200 }, (_, i) => ({
        namespace: ["a"],
        key: String(i),
        value: { text: "tea", rare: i % 50 === 49 },
      }));
      await store.batch(puts);
      const found = await keys(["a"], { query: "tea", filter: { rare: true }, limit: 4 });
      expect(found.sort()).toEqual(["149", "199", "49", "99"]);
    });

    it("searches the paths that put or the store names, and nothing of an item put with false", async () => {
      const value = { title: "green", chapters: [{ text: "black", note: "red" }, { text: "white" }], year: 1999 };
      const found = async (query: string) => (await keys(["a"], { query })).join();
      await store.put(["a"], "all", value);
      await store.put(["a"], "title", value, ["title"]);
      await store.put(["a"], "texts", value, ["chapters[*].text"]);
      await store.put(["a"], "last", value, ["chapters[-1].{text,note}", "year"]);
      await store.put(["a"], "none", value, false);
      const sorted = async (query: string) => (await found(query)).split(",").sort().join();
      expect(await sorted("green")).toBe("all,title");
      expect(await sorted("black")).toBe("all,texts");
      expect(await sorted("white")).toBe("all,last,texts");
      expect(await sorted("red")).toBe("all");
      expect(await sorted("1999")).toBe("all,last");
      expect(await keys(["a"])).toContain("none");
      const titles = new StemmaStore(host, { index: ["title"], label: "titles" });
      await titles.put(["a"], "k", value);
      expect(await titles.search(["a"], { query: "black" })).toEqual([]);
      expect(await titles.search(["a"], { query: "green" })).toHaveLength(1);
    });

    it("does not find by a text that was replaced", async () => {
      await store.put(["a"], "k", { text: "green" });
      await store.put(["a"], "k", { text: "black" });
      expect(await keys(["a"], { query: "green" })).toEqual([]);
      await store.delete(["a"], "k");
      expect(await keys(["a"], { query: "black" })).toEqual([]);
    });
  });

  describe("a list of namespaces", () => {
    const PLACES = [
      ["a"],
      ["a", "b"],
      ["a", "b", "c"],
      ["a", "!", "v1"],
      ["a!"],
      ["a0"],
      ["d", "e", "v1"],
      ["d", "f", "v2"],
    ];
    beforeEach(async () => {
      for (const place of PLACES) for (const key of ["", "1", "zz", "/"]) await store.put(place, key, {});
    });
    const list = async (options?: Parameters<StemmaStore["listNamespaces"]>[0]) =>
      (await store.listNamespaces(options)).map((names) => names.join(" ")).sort();

    it("names each once, whatever it holds", async () => {
      expect(await list()).toEqual(PLACES.map((names) => names.join(" ")).sort());
    });

    it("narrows by beginning and end, with * for any name", async () => {
      expect(await list({ prefix: ["a"] })).toEqual(["a", "a ! v1", "a b", "a b c"]);
      expect(await list({ suffix: ["v1"] })).toEqual(["a ! v1", "d e v1"]);
      expect(await list({ prefix: ["d"], suffix: ["v2"] })).toEqual(["d f v2"]);
      expect(await list({ prefix: ["*", "e"] })).toEqual(["d e v1"]);
      expect(await list({ prefix: ["d", "*", "v2"] })).toEqual(["d f v2"]);
      expect(await list({ suffix: ["*", "v1"] })).toEqual(["a ! v1", "d e v1"]);
      expect(await list({ prefix: ["a", "b", "c", "d"] })).toEqual([]);
    });

    it("cuts to a depth, and names each of the results once", async () => {
      expect(await list({ maxDepth: 1 })).toEqual(["a", "a!", "a0", "d"]);
      expect(await list({ maxDepth: 2 })).toEqual(["a", "a !", "a b", "a!", "a0", "d e", "d f"]);
      expect(await list({ prefix: ["a"], maxDepth: 2 })).toEqual(["a", "a !", "a b"]);
      expect(await list({ suffix: ["v1"], maxDepth: 1 })).toEqual(["a", "d"]);
    });

    it("gives pages", async () => {
      const all = await store.listNamespaces();
      expect(await store.listNamespaces({ limit: 3 })).toEqual(all.slice(0, 3));
      expect(await store.listNamespaces({ limit: 3, offset: 6 })).toEqual(all.slice(6));
      expect(await store.listNamespaces({ maxDepth: 1, limit: 2, offset: 1 })).toHaveLength(2);
    });
  });

  describe("a batch", () => {
    it("answers each operation in its place, and reads what was there before", async () => {
      await store.put(["a"], "k", { n: 1 });
      const results: unknown[] = await store.batch([
        { namespace: ["a"], key: "k" },
        { namespace: ["a"], key: "k", value: { n: 2 } },
        { namespacePrefix: ["a"] },
        { namespace: ["b"], key: "new", value: { n: 3 } },
        { matchConditions: [], limit: 10, offset: 0 },
        { namespace: ["a"], key: "k", value: { n: 4 } },
      ]);
      expect(results[0]).toMatchObject({ value: { n: 1 } });
      expect(results[1]).toBeUndefined();
      expect(results[2]).toMatchObject([{ value: { n: 1 } }]);
      expect(results[4]).toEqual([["a"]]);
      expect((await store.get(["a"], "k"))?.value).toEqual({ n: 4 });
    });

    it("writes all or nothing", async () => {
      const circle: Record<string, unknown> = {};
      circle.circle = circle;
      const batch = store.batch([
        { namespace: ["a"], key: "k", value: { n: 1 } },
        { namespace: ["a"], key: "l", value: { big: 1n } },
      ]);
      await expect(batch).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(await store.get(["a"], "k")).toBe(null);
    });
  });
});

describe("whose items they are", () => {
  it("is the user's that the store is confined to, or everybody's", async () => {
    const host = memory();
    const [anna, ben] = [new StemmaStore(host.forUser("anna")), new StemmaStore(host.forUser("ben"))];
    await anna.put(["a"], "k", { text: "tea" });
    expect(await ben.get(["a"], "k")).toBe(null);
    expect(await ben.search([], { query: "tea" })).toEqual([]);
    expect(await new StemmaStore(host).search([])).toEqual([]);
    expect(await new StemmaStore(host.forUser("anna")).search([], { query: "tea" })).toHaveLength(1);
    expect((await host.check?.())?.ok ?? true).toBe(true);
  });

  it("takes nothing for a store that is none", () => {
    expect(() => new StemmaStore({} as Store)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
  });
});
