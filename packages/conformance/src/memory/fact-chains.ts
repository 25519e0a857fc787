import { AgentSearchProvider } from "@stemma/session";
import type { EntryFields, EntryView, Store, VersionOptions } from "@stemma/store";
import { expect, expectError, expectParts } from "../assert.js";
import { chain } from "../samples.js";
import { defineTopic } from "../topic.js";

const FACTS = { sessionId: "main", label: "facts" };

const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
const year = (number: number) => `${number}-01-01T00:00:00.000Z`;

/** A time between two writes. */
async function moment(): Promise<string> {
  await pause();
  const time = new Date().toISOString();
  await pause();
  return time;
}

/** A chain of facts, each of which takes the place of the one before. */
function world(store: Store) {
  const { entries } = store;
  const write = (key: string, began: number | null, fields: EntryFields = {}, options: object = {}) =>
    entries.set(
      FACTS,
      { key, content: `lives in ${key}`, validFrom: began === null ? null : year(began), ...fields },
      options,
    );
  return {
    write,
    keys: async (view?: EntryView) => (await entries.list(FACTS, view)).map(({ key }) => key),
    remove: (key: string, options?: VersionOptions) => entries.delete(FACTS, key, options),
    get: (key: string) => entries.get(FACTS, key),
    /** Writes what the newest version said that was there. */
    async restore(key: string) {
      const version = (await entries.versions(FACTS, key)).find(({ content }) => content !== null);
      const { ends, ...fields } = version?.fact ?? { ends: [], validTo: null };
      await entries.set(FACTS, { key, content: version?.content ?? "", ...fields, validTo: null });
    },
    /** The years in which facts begin and end, by their keys. */
    async spans(...keys: readonly string[]) {
      const found = await Promise.all(keys.map((key) => entries.get(FACTS, key)));
      const yearOf = (time: string | null | undefined) => (time == null ? null : Number(time.slice(0, 4)));
      return found.map((entry) => [yearOf(entry?.validFrom), yearOf(entry?.validTo)]);
    },
  };
}

/** A, B and C: B supersedes A, and C supersedes B. */
async function three(store: Store) {
  const facts = world(store);
  await facts.write("a", 2010);
  await facts.write("b", 2015, { supersedes: ["a"] });
  await facts.write("c", 2024, { supersedes: ["b"] });
  return facts;
}

/** Facts that take the place of each other, of which some are removed and come back. */
export const factChains = defineTopic("chains of facts", (it) => {
  it("hangs on its successor what a removed entry superseded, and puts all back with it", async ({ store }) => {
    const { keys, remove, restore, get, spans } = await three(store);
    const before = await Promise.all(["a", "b", "c"].map(get));
    await remove("b");
    expect([await keys(), await spans("a", "c")]).toEqual([
      ["c"],
      [
        [2010, 2024],
        [2024, null],
      ],
    ]);
    expect((await get("a"))?.supersededBy).toEqual(["c"]);
    expect((await get("c"))?.supersedes).toInclude("a");
    await restore("b");
    const after = await Promise.all(["a", "b", "c"].map(get));
    const plain = (entries: typeof after) =>
      entries.map((entry) => ({ ...entry, updatedAt: "", invalidatedAt: "", ends: [] }));
    // When it was first stored, too.
    expect(plain(after)).toEqual(plain(before));
    await remove("b");
    await remove("c");
    expect(await keys()).toEqual(["a"]);
    expect((await get("a"))?.ends).toEqual([]);
    await restore("b");
    expect([await keys(), await spans("a", "b")]).toEqual([
      ["b"],
      [
        [2010, 2015],
        [2015, null],
      ],
    ]);
    await restore("c");
    expect([await keys(), await spans("a", "b")]).toEqual([
      ["c"],
      [
        [2010, 2015],
        [2015, 2024],
      ],
    ]);
  });

  it("does so for an entry that is erased, of which nothing stays", async ({ store }) => {
    const { keys, remove, get, spans } = await three(store);
    await remove("b", { keepVersions: 0 });
    expect([await keys(), await spans("a")]).toEqual([["c"], [[2010, 2024]]]);
    expect((await get("c"))?.supersedes).toEqual(["a"]);
    const left = ["a", "c"].flatMap((key) => [get(key), store.entries.versions(FACTS, key)]);
    expect(JSON.stringify(await Promise.all(left)).includes('"b"')).toBe(false);
    await remove("c", { keepVersions: 0 });
    expect([await keys(), (await get("a"))?.ends]).toEqual([["a"], []]);
    // Also of one that was removed before.
    await remove("a");
    const again = await three(store);
    await again.remove("b");
    await remove("b", { keepVersions: 0 });
    expect(JSON.stringify(await Promise.all(["a", "c"].map(get))).includes('"b"')).toBe(false);
    expect(await again.spans("a")).toEqual([[2010, 2024]]);
  });

  it("keeps each fact in its time whatever is removed and comes back, in whichever order", async ({ store }) => {
    const { write, remove, restore, keys, spans } = await three(store);
    await write("d", 2026, { supersedes: ["c"] });
    const orders = [
      ["b", "c"],
      ["c", "b"],
    ];
    for (const gone of orders) {
      for (const back of orders) {
        for (const key of gone) await remove(key);
        expect([await keys(), await spans("a")]).toEqual([["d"], [[2010, 2026]]]);
        for (const key of back) await restore(key);
        expect([await keys(), await spans("a", "b", "c", "d")]).toEqual([
          ["d"],
          [
            [2010, 2015],
            [2015, 2024],
            [2024, 2026],
            [2026, null],
          ],
        ]);
      }
    }
  });

  it("goes on with every branch of a chain by itself", async ({ store }) => {
    const { write, remove, restore, keys, spans, get } = world(store);
    await write("a1", 2010);
    await write("a2", 2011);
    await write("b1", 2015, { supersedes: ["a1"] });
    await write("b2", 2016, { supersedes: ["a1", "a2"] });
    await write("c", 2024, { supersedes: ["b1", "b2"] });
    await write("e", 2025, { supersedes: ["b2"] });
    await remove("b1");
    expect(await spans("a1", "a2")).toEqual([
      [2010, 2016],
      [2011, 2016],
    ]);
    await remove("b2");
    expect([await keys(), await spans("a1", "a2")]).toEqual([
      ["c", "e"],
      [
        [2010, 2024],
        [2011, 2024],
      ],
    ]);
    await remove("c");
    expect(await spans("a1", "a2")).toEqual([
      [2010, 2025],
      [2011, 2025],
    ]);
    for (const key of ["b1", "c", "b2"]) await restore(key);
    expect(await spans("a1", "a2", "b1", "b2")).toEqual([
      [2010, 2015],
      [2011, 2016],
      [2015, 2024],
      [2016, 2024],
    ]);
    expect((await get("a2"))?.supersededBy).toEqual(["b2"]);
  });

  it("supersedes with a removed entry what that superseded", async ({ store }) => {
    const { write, remove, restore, keys, get } = await three(store);
    await remove("b");
    // As whoever restores an older version of it writes.
    await write("c", 2024, { supersedes: ["b"] });
    expect(await keys()).toEqual(["c"]);
    await write("c", 2024, { supersedes: [] });
    expect(await keys()).toEqual(["a", "c"]);
    await restore("b");
    expect((await get("b"))?.supersededBy).toEqual([]);
    // What it would end besides is its own successor by now.
    await write("c", 2024, { supersedes: ["b"] });
    await remove("b");
    await write("c", 2024, { supersedes: [] });
    await write("a", 2025, { supersedes: ["c"] });
    await write("c", 2024, { supersedes: ["b"] });
    expect(await keys()).toEqual(["a"]);
  });

  it("holds again what comes back with a later beginning than what took its place, and may end that", async ({
    store,
  }) => {
    const { write, remove, restore, keys, spans, get } = await three(store);
    await remove("b");
    await write("b", 2025);
    expect([await keys(), await spans("a", "b", "c")]).toEqual([
      ["b", "c"],
      [
        [2010, 2024],
        [2025, null],
        [2024, null],
      ],
    ]);
    expect([(await get("b"))?.supersededBy, (await get("c"))?.supersedes]).toEqual([[], ["a"]]);
    await write("b", 2025, { supersedes: ["c"] });
    expect([await keys(), await spans("c")]).toEqual([["b"], [[2024, 2025]]]);
    // What began as late as before, or no later than what took its place, stays ended.
    await remove("b");
    await remove("a");
    for (const begin of [2010, 2024]) {
      await write("a", begin);
      expect([await keys(), (await get("a"))?.supersededBy]).toEqual([["c"], ["c"]]);
      await remove("a");
    }
    await write("a", 2026);
    await remove("a");
    await restore("a");
    expect(await keys()).toEqual(["a", "c"]);
  });

  it("undoes and rewinds the middle of a chain", async ({ store, sessionOf }) => {
    const session = sessionOf("main").withContext("facts", { provider: new AgentSearchProvider(store) });
    const { write, keys, spans } = world(store);
    const from = (id: string) => ({ origin: { author: "learning", sessionId: "main", messageIds: [id] } });
    await chain(session, ["m1", "m2", "m3"]);
    await write("a", 2010, {}, from("m1"));
    await write("b", 2015, { supersedes: ["a"] }, from("m2"));
    await write("c", 2024, { supersedes: ["b"] }, from("m3"));
    await pause();
    await chain(session, ["m4"]);
    await pause();
    await session.revertFrom("m2");
    expect([await keys(), await spans("a")]).toEqual([["c"], [[2010, 2024]]]);
    await session.setActiveLeaf("m4", { context: "as-of" });
    expect([await keys(), await spans("a", "b")]).toEqual([
      ["c"],
      [
        [2010, 2015],
        [2015, 2024],
      ],
    ]);
    await session.revertFrom("m3");
    expect([await keys(), await spans("a")]).toEqual([["b"], [[2010, 2015]]]);
  });

  it("ends an entry by others that supersede it from now on, which keep what they say", async ({ store }) => {
    const { write, get, keys, remove } = world(store);
    await write("c", 2024, { origin: "user" });
    await write("a", 2010, { origin: "web" }, { supersededBy: ["c"] });
    expectParts(await get("a"), { validTo: year(2024), supersededBy: ["c"] });
    expectParts(await get("c"), { content: "lives in c", origin: "user", supersedes: ["a"], validTo: null });
    expect((await store.entries.versions(FACTS, "c"))[0]?.fact?.supersedes).toEqual(["a"]);
    // Again says nothing new.
    await write("a", 2010, {}, { supersededBy: ["c", "c"] });
    expect((await get("a"))?.supersededBy).toEqual(["c"]);
    await expectError(write("x", 2000, {}, { supersededBy: ["missing"] }), "INVALID_ARGUMENT");
    await expectError(write("c", 2024, {}, { supersededBy: ["a"] }), "INVALID_ARGUMENT");
    await expectError(write("c", 2024, {}, { supersededBy: ["c"] }), "INVALID_ARGUMENT");
    await expectError(write("y", 2024, { supersedes: ["c"] }, { supersededBy: ["a"] }), "INVALID_ARGUMENT");
    expect(await keys({ includeEnded: true })).toEqual(["a", "c"]);
    await remove("c");
    expect(await keys()).toEqual(["a"]);
  });

  it("reads what was known before a removal, an undo and an edit, and nothing of what was erased", async ({
    store,
  }) => {
    const { write, keys, remove, restore } = world(store);
    const known = (knownAt: string, view: EntryView = {}) => keys({ knownAt, ...view });
    await write("a", 2010);
    const first = await moment();
    await write("b", 2015, { supersedes: ["a"] });
    const second = await moment();
    await remove("b");
    const third = await moment();
    expect([await known(first), await known(second), await known(third)]).toEqual([["a"], ["b"], ["a"]]);
    expect(await known(second, { asOf: year(2012) })).toEqual(["a"]);
    expect(await known(second, { includeEnded: true })).toEqual(["a", "b"]);
    expect(await store.entries.count(FACTS, { knownAt: second })).toBe(1);
    expectParts(await store.entries.list(FACTS, { knownAt: second }), [
      { key: "b", content: "lives in b", supersedes: ["a"], validFrom: year(2015), validTo: null },
    ]);
    await restore("b");
    const fourth = await moment();
    await write("b", 2015, { supersedes: [] });
    expect([await known(second), await known(third), await known(fourth), await keys()]).toEqual([
      ["b"],
      ["a"],
      ["b"],
      ["a", "b"],
    ]);
    await write("c", 2024, { supersedes: ["b"] });
    const fifth = await moment();
    await remove("b");
    await remove("c");
    expect([await known(fifth), await known(fifth, { asOf: year(2020) })]).toEqual([
      ["a", "c"],
      ["a", "b"],
    ]);
    const page = await store.entries.list(FACTS, { knownAt: fifth, includeEnded: true, limit: 2, after: "a" });
    expect(page.map(({ key }) => key)).toEqual(["b", "c"]);
    for (const key of ["b", "c"]) await remove(key, { keepVersions: 0 });
    expect([await known(second), await known(fifth)]).toEqual([["a"], ["a"]]);
  });

  it("ends nothing before it was known, though what ended it was removed", async ({ store }) => {
    const { write, keys, remove } = world(store);
    await write("a", 2010);
    await write("b", 2015);
    await write("c", 2020, { supersedes: ["b"] });
    const first = await moment();
    await write("b", 2015, { supersedes: ["a"] });
    const second = await moment();
    await remove("b");
    expect([await keys({ knownAt: first }), await keys({ knownAt: second }), await keys()]).toEqual([
      ["a", "c"],
      ["c"],
      ["c"],
    ]);
    expect(await keys({ knownAt: second, asOf: year(2017) })).toEqual(["b"]);
    await write("d", null, {}, {});
    await write("e", 2030, { supersedes: ["d"] });
    const third = await moment();
    await write("all", null, { supersedes: ["d", "e"] }, { merges: true });
    await remove("e");
    expect(await keys({ knownAt: third, asOf: year(2027) })).toEqual(["c", "d"]);
  });

  it("reads what had ended before it was removed and said again", async ({ store }) => {
    const { write, keys, remove } = world(store);
    await write("bern", 2010);
    await write("ulm", 2015, { supersedes: ["bern"] });
    const before = await moment();
    await remove("bern");
    const without = await moment();
    await write("bern", 2020);
    const known = (knownAt: string) => keys({ knownAt, includeEnded: true });
    expect([await keys({ knownAt: before }), await keys({ knownAt: without }), await keys()]).toEqual([
      ["ulm"],
      ["ulm"],
      ["bern", "ulm"],
    ]);
    expect(await keys({ knownAt: before, asOf: year(2012) })).toEqual(["bern"]);
    expect([await known(before), await known(without)]).toEqual([["bern", "ulm"], ["ulm"]]);
  });

  it("reads what was known before the beginning of a successor was corrected", async ({ store }) => {
    const { write, keys, remove } = world(store);
    await write("a", 2010);
    await write("b", 2015, { supersedes: ["a"] });
    await write("c", 2024, { supersedes: ["b"] });
    const first = await moment();
    await write("b", 2018);
    const second = await moment();
    await write("b", 2012);
    const third = await moment();
    await remove("b");
    const fourth = await moment();
    await write("c", 2020);
    const held = async (knownAt: string) =>
      Promise.all([2011, 2013, 2016, 2019, 2022, 2025].map((at) => keys({ knownAt, asOf: year(at) })));
    const [a, b, c] = [["a"], ["b"], ["c"]];
    expect(await held(first)).toEqual([a, a, b, b, b, c]);
    expect(await held(second)).toEqual([a, a, a, b, b, c]);
    expect(await held(third)).toEqual([a, b, b, b, b, c]);
    expect(await held(fourth)).toEqual([a, a, a, a, a, c]);
    expect(await held(await moment())).toEqual([a, a, a, a, c, c]);
  });

  it("shows one fact of a chain at each time, also where no beginning is known", ["search"], async ({ store }) => {
    const { write, keys, remove, restore } = world(store);
    const times: string[] = [year(2020)];
    for (const [at, key] of ["a", "b", "c", "d"].entries()) {
      await write(key, null, at === 0 ? {} : { supersedes: [["a", "b", "c", "d"][at - 1] as string] });
      times.push(await moment());
    }
    const held = async (view: EntryView = {}) => {
      const all = times.map(async (asOf) => {
        const listed = await keys({ asOf, ...view });
        const found = await store.entries.search(FACTS, "lives", { asOf, ...view, limit: 9 });
        // It looks for present words.
        if (view.knownAt === undefined) expect(found.map(({ key }) => key).sort()).toEqual(listed);
        expect(await store.entries.count(FACTS, { asOf, ...view })).toBe(listed.length);
        return listed.join();
      });
      return Promise.all(all);
    };
    expect(await held()).toEqual(["a", "a", "b", "c", "d"]);
    expect(await held({ knownAt: times[3] })).toEqual(["a", "a", "b", "c", "c"]);
    const before = await moment();
    await remove("b");
    expect(await held()).toEqual(["a", "a", "a", "c", "d"]);
    expect(await held({ knownAt: before })).toEqual(["a", "a", "b", "c", "d"]);
    await restore("b");
    expect(await held()).toEqual(["a", "a", "b", "c", "d"]);
    await remove("c");
    await remove("b");
    expect(await held()).toEqual(["a", "a", "a", "a", "d"]);
    await restore("c");
    await restore("b");
    expect(await held()).toEqual(["a", "a", "b", "c", "d"]);
    expect(await held({ knownAt: before })).toEqual(["a", "a", "b", "c", "d"]);
    // A plan that is given up never held: nothing waits for its end.
    await write("plan", 2999);
    await write("e", null, { supersedes: ["plan"] });
    expect(await keys({ asOf: year(2021) })).toEqual(["a", "e"]);
    expect(await keys({ asOf: year(2999) })).toEqual(["d", "e"]);
  });

  it("begins what replaces a chain where that has ended", ["transactions"], async ({ store }) => {
    const { write, keys } = world(store);
    await write("rome", null);
    await write("b1", null, { supersedes: ["rome"] });
    await write("b2", null);
    await moment();
    await write("b", null, { supersedes: ["b1", "b2"] }, { merges: true });
    expect([await keys({ asOf: year(2020) }), await keys()]).toEqual([["rome"], ["b"]]);
  });

  it("ends a predecessor when it is written that the beginning of its successor is unknown", async ({ store }) => {
    const { write, get, keys, remove, restore } = world(store);
    await write("a", 2010);
    await write("b", 2999, { supersedes: ["a"] });
    expect(await keys()).toEqual(["a"]);
    const before = await moment();
    await write("b", null);
    const end = (await get("a"))?.validTo ?? "";
    expect([await keys(), end > before, end <= new Date().toISOString()]).toEqual([["b"], true, true]);
    // What says nothing new leaves it there.
    await moment();
    await write("b", null, { tags: ["home"] });
    expect((await get("a"))?.validTo).toBe(end);
    expect(await keys({ knownAt: before })).toEqual(["a"]);
    // What was removed meanwhile comes back with the end that it has by now.
    await remove("a");
    await write("b", 2020);
    await restore("a");
    expect((await get("a"))?.validTo).toBe(year(2020));
    await write("b", 2021);
    expect((await get("a"))?.validTo).toBe(year(2021));
  });
});
