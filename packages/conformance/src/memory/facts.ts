import { sleep } from "@stemma/model";
import { AgentSearchProvider } from "@stemma/session";
import type { EntryFields, EntryView, Store } from "@stemma/store";
import { expect, expectError, expectParts } from "../assert.js";
import { chain, message } from "../samples.js";
import { defineTopic } from "../topic.js";

const FACTS = { sessionId: "main", label: "facts" };
const [MARCH, MAY, JUNE, JULY] = ["2025-03", "2025-05", "2025-06", "2025-07"].map(
  (month) => `${month}-01T00:00:00.000Z`,
);

const write = ({ entries }: Store, key: string, content: string, fields: EntryFields = {}) =>
  entries.set(FACTS, { key, content, ...fields });
const keys = async ({ entries }: Store, view?: EntryView) => (await entries.list(FACTS, view)).map(({ key }) => key);
const ends = async ({ entries }: Store, key: string) => {
  const entry = await entries.get(FACTS, key);
  return [entry?.validTo, entry?.invalidatedAt === null ? "holds" : "ended", entry?.supersededBy];
};

/** Since when and until when entries hold, what takes their place, and reads of what held or was known at a time. */
export const facts = defineTopic("facts in time", (it) => {
  it("says nothing of times, tags and origin that were not written", async ({ store }) => {
    await write(store, "city", "lives in Berlin");
    const { createdAt, updatedAt, ...entry } = (await store.entries.get(FACTS, "city")) ?? {};
    expect(entry).toEqual({
      key: "city",
      content: "lives in Berlin",
      validFrom: null,
      validTo: null,
      invalidatedAt: null,
      expiresAt: null,
      supersedes: [],
      supersededBy: [],
      tags: [],
      origin: null,
      ends: [],
    });
    const [version] = await store.entries.versions(FACTS, "city");
    expect("fact" in (version ?? {})).toBe(false);
  });

  it("keeps what is left out, and takes away what is null or empty", async ({ store }) => {
    const given = {
      validFrom: "2025-03-01",
      validTo: "2025-06-01T02:00+02:00",
      tags: ["home", "home"],
      origin: "user",
    } as const;
    await write(store, "city", "Berlin", { ...given, expiresAt: "9999-12-31T23:59:59.999Z" });
    const before = await store.entries.get(FACTS, "city");
    expectParts(before, { validFrom: MARCH, validTo: JUNE, tags: ["home"], origin: "user" });
    await write(store, "city", "Berlin, Mitte");
    await store.entries.append(FACTS, { key: "city", content: "2nd floor" }, { maxTokens: 100 });
    const { content, updatedAt, ...kept } = (await store.entries.get(FACTS, "city")) ?? {};
    expect({ ...before, content, updatedAt }).toEqual({ ...kept, content: "Berlin, Mitte\n2nd floor", updatedAt });
    await write(store, "city", "Berlin", { validFrom: null, validTo: null, expiresAt: null, tags: [], origin: null });
    expectParts(await store.entries.get(FACTS, "city"), { validFrom: null, ends: [], tags: [], origin: null });
  });

  it("reads what holds now, unless a view asks for more", ["search"], async ({ store }) => {
    await write(store, "now", "tea");
    await write(store, "ended", "tea", { validFrom: "2025-03-01", validTo: "2025-06-01" });
    await write(store, "begins", "tea", { validFrom: "2999-01-01" });
    await write(store, "until", "tea", { validTo: "2999-01-01" });
    await write(store, "expired", "tea", { expiresAt: "2025-06-01" });
    const found = async (view: EntryView = {}) => {
      const listed = await keys(store, view);
      const hits = await store.entries.search(FACTS, "tea", { ...view, limit: 10 });
      expect(hits.map(({ key }) => key).sort()).toEqual(listed);
      expect(await store.entries.count(FACTS, view)).toBe(listed.length);
      return listed;
    };
    expect(await found()).toEqual(["now", "until"]);
    expect(await found({ includeEnded: true })).toEqual(["begins", "ended", "now", "until"]);
    expect(await found({ includeExpired: true })).toEqual(["expired", "now", "until"]);
    expect(await found({ asOf: MARCH })).toEqual(["ended", "now", "until"]);
    expect(await found({ asOf: JUNE })).toEqual(["now", "until"]);
    expect(await found({ asOf: "2999-01-01" })).toEqual(["begins", "now"]);
    expect((await store.entries.get(FACTS, "expired"))?.content).toBe("tea");
    expect(await store.entries.labels({ sessionId: "main" })).toEqual([{ label: "facts", count: 2 }]);
    expect(await new AgentSearchProvider(store, { label: "facts" }).forSession("main").get()).toBe(
      "2 entries indexed.",
    );
  });

  it("ends what an entry supersedes, and lets it hold again when that is removed, restored or undone", async ({
    store,
  }) => {
    await write(store, "berlin", "lives in Berlin", { validFrom: "2025-03-01", origin: "web" });
    await write(store, "lisbon", "lives in Lisbon", {
      validFrom: "2025-06-01",
      supersedes: ["berlin"],
      origin: "user",
    });
    expect(await ends(store, "berlin")).toEqual([JUNE, "ended", ["lisbon"]]);
    expect(await keys(store)).toEqual(["lisbon"]);
    expect(await keys(store, { asOf: "2025-05-01" })).toEqual(["berlin"]);
    expect((await store.entries.get(FACTS, "lisbon"))?.origin).toBe("web");
    // It moves with its successor's beginning.
    await write(store, "lisbon", "lives in Lisbon", { validFrom: "2025-05-01" });
    expect(await ends(store, "berlin")).toEqual([MAY, "ended", ["lisbon"]]);
    await store.entries.delete(FACTS, "lisbon");
    expect(await ends(store, "berlin")).toEqual([null, "holds", []]);
    // Whoever restores it writes what its version said.
    const [, version] = await store.entries.versions(FACTS, "lisbon");
    await write(store, "lisbon", version?.content ?? "", { supersedes: version?.fact?.supersedes });
    expect(await keys(store)).toEqual(["lisbon"]);
    await write(store, "lisbon", "lives in Lisbon", { supersedes: [] });
    expect(await keys(store)).toEqual(["berlin", "lisbon"]);
    await write(store, "lisbon", "lives in Lisbon", { supersedes: ["berlin"] });
    await store.entries.delete(FACTS, "lisbon", { keepVersions: 0 });
    expect(await keys(store)).toEqual(["berlin"]);
  });

  it("ends what has several successors at the earliest, and none before its beginning", async ({ store }) => {
    await write(store, "tea", "drinks tea", { validFrom: "2025-05-01", validTo: "2025-07-01" });
    await write(store, "coffee", "drinks coffee", { validFrom: "2025-06-01", supersedes: ["tea"] });
    expect(await ends(store, "tea")).toEqual([JUNE, "ended", ["coffee"]]);
    await write(store, "water", "drinks water", { validFrom: "2025-03-01", supersedes: ["tea"] });
    expect(await ends(store, "tea")).toEqual([MAY, "ended", ["coffee", "water"]]);
    await store.entries.delete(FACTS, "water");
    await store.entries.delete(FACTS, "coffee");
    expect(await ends(store, "tea")).toEqual([JULY, "ended", []]);
    const before = new Date().toISOString();
    await write(store, "milk", "drinks milk", { validFrom: "2025-03-01" });
    await write(store, "juice", "drinks juice", { supersedes: ["milk"] });
    const [validTo] = await ends(store, "milk");
    expect(validTo !== undefined && validTo !== null && String(validTo) >= before).toBe(true);
    expect((await store.entries.get(FACTS, "juice"))?.validFrom).toBe(null);
  });

  it("keeps ended what was removed and came back while its successor is there", async ({ store }) => {
    await write(store, "berlin", "lives in Berlin");
    await write(store, "lisbon", "lives in Lisbon", { supersedes: ["berlin"] });
    await store.entries.delete(FACTS, "berlin");
    await write(store, "berlin", "lives in Berlin");
    expect(await keys(store)).toEqual(["lisbon"]);
    await store.entries.delete(FACTS, "berlin", { keepVersions: 0 });
    expect((await store.entries.get(FACTS, "lisbon"))?.supersedes).toEqual([]);
    await write(store, "berlin", "lives in Berlin");
    expect(await keys(store)).toEqual(["berlin", "lisbon"]);
  });

  it("refuses circles, predecessors that are not there, and times that are none", async ({ store }) => {
    await write(store, "a", "a");
    await write(store, "b", "b", { supersedes: ["a"] });
    await write(store, "c", "c", { supersedes: ["b"] });
    const refused = (key: string, fields: object) => expectError(write(store, key, "new", fields), "INVALID_ARGUMENT");
    for (const supersedes of [["c"], ["b"], ["a"], ["missing"], [""], [1], "b"]) await refused("a", { supersedes });
    await refused("d", { validFrom: "2025-06-01", validTo: "2025-05-31" });
    for (const time of [
      "yesterday",
      "2025-02-30",
      "2025-06-01T12:00",
      "10000-01-01",
      "-000001-01-01",
      0,
      "",
      "9999-12-31T23:30-01:00",
    ]) {
      for (const name of ["validFrom", "validTo", "expiresAt"]) await refused("d", { [name]: time });
      await expectError(store.entries.list(FACTS, { asOf: time as string }), "INVALID_ARGUMENT");
    }
    await refused("d", { origin: "nowhere" });
    await refused("d", { tags: ["x", null] });
    await refused("c", { validFrom: "2025-06-01", validTo: "2025-05-01" });
    for (const filter of [
      { tag: ["x"] },
      { tags: "x" },
      { value: { a: { is: 1 } } },
      { or: [{ x: 1 }] },
      { value: { a: { lt: true } } },
      { value: { a: { gte: Number.NaN } } },
      { value: { a: () => 1 } },
      { value: { a: { in: [{}] } } },
      { value: { a: undefined } },
    ]) {
      await expectError(store.entries.list(FACTS, { filter: filter as never }), "INVALID_ARGUMENT");
    }
    expect(await keys(store, { includeEnded: true })).toEqual(["a", "b", "c"]);
    expect((await store.entries.get(FACTS, "a"))?.content).toBe("a");
    await write(store, "d", "d", { validFrom: "0000-01-01", validTo: "9999-12-31T23:59:59.999Z" });
    expectParts(await store.entries.get(FACTS, "d"), { validFrom: "0000-01-01T00:00:00.000Z" });
    expect(await keys(store)).toEqual(["c", "d"]);
    // From its beginning to its beginning it never held.
    await write(store, "e", "e", { validFrom: "2025-06-01", validTo: "2025-06-01" });
    expect(await keys(store, { asOf: JUNE })).toExclude("e");
  });

  it("reads what was known at a time", async ({ store }) => {
    const { entries } = store;
    const at = (day: number) => `2025-01-0${day}T00:00:00.000Z`;
    const copy = (key: string, made: number, written: number, options: object) =>
      entries.set(
        FACTS,
        { key, content: `${key} now` },
        { createdAt: at(made), updatedAt: at(written), keepVersions: 0, ...options },
      );
    const end = (by: string | null, day: number) => ({
      validTo: "2020-01-01T00:00:00.000Z",
      invalidatedAt: at(day),
      by,
    });
    await copy("ended", 1, 1, { ends: [end("later", 4)] });
    await copy("edited", 1, 5, {});
    const noted = { author: "program", sessionId: null, messageIds: [], toolCallId: null } as const;
    const fact = {
      validFrom: null,
      validTo: "2020-01-01T00:00:00.000Z",
      expiresAt: null,
      supersedes: [],
      tags: ["old"],
      origin: null,
    };
    await entries.importVersions(FACTS, "edited", [
      { version: 2, content: "edited now", writtenAt: at(5), ...noted },
      { version: 1, content: "edited then", writtenAt: at(2), ...noted, fact: { ...fact, ends: [end(null, 2)] } },
    ]);
    await copy("later", 4, 4, {});
    const known = async (day: number, view: EntryView = {}) =>
      (await entries.list(FACTS, { ...view, knownAt: at(day) })).map(({ content }) => content);
    expect(await keys(store)).toEqual(["edited", "later"]);
    expect(await known(1)).toEqual(["ended now"]);
    expect(await known(3)).toEqual(["ended now"]);
    expect(await known(3, { includeEnded: true })).toEqual(["edited then", "ended now"]);
    expect(await known(3, { asOf: "2019-01-01" })).toEqual(["edited then", "ended now"]);
    expect(await known(3, { asOf: "2019-01-01", filter: { tags: ["old"] } })).toEqual(["edited then"]);
    expect(await known(4)).toEqual(["later now"]);
    expect(await known(6)).toEqual(["edited now", "later now"]);
    expect(await entries.count(FACTS, { knownAt: at(3) })).toBe(1);
    expectParts(await entries.list(FACTS, { knownAt: at(6), limit: 1, after: "edited" }), [{ key: "later" }]);
  });

  it(
    "hides what had expired as it was known, though it is said again without an expiry",
    ["search"],
    async ({ store }) => {
      await write(store, "pin", "1234", { expiresAt: "2020-01-01" });
      const { updatedAt: knownAt = "" } = (await store.entries.get(FACTS, "pin")) ?? {};
      await sleep(5);
      await write(store, "pin", "5678", { expiresAt: null });
      expect(await keys(store)).toEqual(["pin"]);
      expect(await keys(store, { knownAt })).toEqual([]);
      expect(await store.entries.count(FACTS, { knownAt })).toBe(0);
      expect(await store.entries.search(FACTS, "1234 5678", { knownAt, limit: 10 })).toEqual([]);
      expectParts(await store.entries.list(FACTS, { knownAt, includeExpired: true }), [
        { key: "pin", content: "1234" },
      ]);
    },
  );

  it("knows of two ends at one time when the first was learned, whatever is written later", async ({ store }) => {
    await write(store, "berlin", "lives in Berlin");
    await write(store, "lisbon", "lives in Lisbon", { validFrom: JUNE, supersedes: ["berlin"] });
    await sleep(20);
    const between = new Date().toISOString();
    await sleep(20);
    await write(store, "berlin", "lives in Berlin", { validTo: JUNE });
    await sleep(5);
    const knownAt = new Date().toISOString();
    await sleep(5);
    await write(store, "lisbon", "lives in Lisbon", { supersedes: [] });
    const [berlin] = await store.entries.list(FACTS, { knownAt, includeEnded: true });
    expectParts([berlin], [{ key: "berlin", validTo: JUNE }]);
    expect((berlin?.invalidatedAt ?? between) < between).toBe(true);
  });

  it("knows how entries were merged after the new one was edited", ["search"], async ({ store }) => {
    await write(store, "berlin", "lives in Berlin");
    await store.entries.set(FACTS, { key: "city", content: "Berlin", supersedes: ["berlin"] }, { merges: true });
    await sleep(5);
    const knownAt = new Date().toISOString();
    const known = async () =>
      Promise.all([keys(store, { knownAt }), keys(store, { knownAt, asOf: "2020-01-01" }), ends(store, "berlin")]);
    const before = await known();
    expect(before.slice(0, 2)).toEqual([["city"], ["city"]]);
    await sleep(5);
    await write(store, "city", "in Berlin");
    expect(await known()).toEqual(before);
  });

  it(
    "knows how entries were merged after the new one was dated, dated no more, or taken back",
    ["search"],
    async ({ store }) => {
      await write(store, "berlin", "lives in Berlin");
      await store.entries.set(FACTS, { key: "city", content: "Berlin", supersedes: ["berlin"] }, { merges: true });
      await sleep(5);
      const knownAt = new Date().toISOString();
      const known = async () => [await keys(store, { knownAt }), await keys(store, { knownAt, asOf: "2020-01-01" })];
      const at = (asOf: string) => keys(store, { asOf });
      await sleep(5);
      await write(store, "city", "Berlin", { validFrom: "2024-06-01" });
      expect([await known(), await at("2020-01-01"), await at("2025-01-01")]).toEqual([
        [["city"], ["city"]],
        ["berlin"],
        ["city"],
      ]);
      await sleep(5);
      await write(store, "city", "Berlin, Germany");
      expect(await known()).toEqual([["city"], ["city"]]);
      await write(store, "city", "Berlin", { validFrom: null });
      expect([await known(), await at("2020-01-01")]).toEqual([[["city"], ["city"]], ["city"]]);
      await sleep(5);
      await store.entries.delete(FACTS, "city");
      expect([await known(), await keys(store)]).toEqual([[["city"], ["city"]], ["berlin"]]);
      await write(store, "city", "Berlin", { supersedes: ["berlin"] });
      expect([await known(), await at("2020-01-01")]).toEqual([[["city"], ["city"]], ["city"]]);
    },
  );

  it("filters by tags and by fields of values", ["search"], async ({ store }) => {
    const entry = (key: string, value: unknown, tags: string[]) =>
      store.entries.set(FACTS, { key, content: "word", value, tags });
    await entry("a", { n: 1, of: { city: "Berlin" }, ok: true }, ["home"]);
    await entry("b", { n: 2, of: { city: "Lisbon" } }, ["home", "work"]);
    await entry("c", { n: "2", ok: null }, []);
    await entry("d", undefined, ["work"]);
    const cases: [EntryView["filter"], string[]][] = [
      [{}, ["a", "b", "c", "d"]],
      [{ tags: ["home"] }, ["a", "b"]],
      [{ tags: ["home", "work"] }, ["b"]],
      [{ value: { n: 2 } }, ["b"]],
      [{ value: { n: { gte: 1, lt: 2 } } }, ["a"]],
      [{ value: { n: { gte: "1" } } }, ["c"]],
      [{ value: { "of.city": { in: ["Berlin", "Porto"] } } }, ["a"]],
      [{ value: { ok: null } }, ["b", "c", "d"]],
      [{ value: { ok: true } }, ["a"]],
      [{ or: [{ value: { n: 1 } }, { tags: ["work"] }] }, ["a", "b", "d"]],
      [{ tags: ["work"], and: [{ tags: ["home"] }, { value: { n: { in: [2] } } }] }, ["b"]],
      [{ or: [] }, []],
      [{ value: { constructor: null } }, ["a", "b", "c", "d"]],
    ];
    for (const [filter, wanted] of cases) {
      expect(await keys(store, { filter })).toEqual(wanted);
      const found = await store.entries.search(FACTS, "word", { filter, limit: 10 });
      expect(found.map(({ key }) => key).sort()).toEqual(wanted);
      expect(await store.entries.count(FACTS, { filter })).toBe(wanted.length);
    }
    expect(await keys(store, { filter: { tags: ["work"] }, limit: 1, after: "b" } as EntryView)).toEqual(["d"]);
  });

  it("restores with a version what it said of its time", async ({ store, sessionOf }) => {
    const provider = new AgentSearchProvider(store);
    const session = sessionOf("main").withContext("facts", { provider });
    await session.tools();
    await write(store, "berlin", "lives in Berlin", { validFrom: "2025-03-01", tags: ["home"] });
    await write(store, "berlin", "lived in Berlin", { validTo: "2025-06-01", tags: [] });
    await session.restoreBlock("facts", 1, { key: "berlin" });
    const restored = await store.entries.get(FACTS, "berlin");
    expectParts(restored, { content: "lives in Berlin", validFrom: MARCH, validTo: null, tags: ["home"] });
  });

  it("undoes what came of a message, its predecessor too", async ({ store, sessionOf }) => {
    const session = sessionOf("main").withContext("facts", { provider: new AgentSearchProvider(store) });
    await session.appendAll([message("u1"), message("a1", "answer", "assistant"), message("u2")]);
    const learned = (messageId: string) => ({
      origin: { author: "learning", sessionId: "main", messageIds: [messageId] } as const,
    });
    await store.entries.set(FACTS, { key: "berlin", content: "lives in Berlin" }, learned("u1"));
    await store.entries.set(
      FACTS,
      { key: "lisbon", content: "lives in Lisbon", supersedes: ["berlin"] },
      learned("u2"),
    );
    await store.entries.set(FACTS, { key: "berlin", content: "lives in Berlin", tags: ["home"] }, learned("u2"));
    expect(await keys(store)).toEqual(["lisbon"]);
    await session.revertFrom("u2");
    expect(await keys(store)).toEqual(["berlin"]);
    expect((await store.entries.get(FACTS, "berlin"))?.tags).toEqual([]);
  });

  it("is rewound to a message", async ({ store, sessionOf }) => {
    const session = sessionOf("main");
    await write(store, "berlin", "lives in Berlin", { tags: ["home"] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await chain(session, ["a"]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await write(store, "berlin", "lives in Berlin", { tags: [] });
    await write(store, "lisbon", "lives in Lisbon", { supersedes: ["berlin"] });
    await chain(session, ["b"]);
    await store.session("main").rewindTo("a");
    expectParts(await store.entries.list(FACTS), [{ key: "berlin", tags: ["home"] }]);
  });

  it(
    "lets an expired entry go with retention, and what it superseded stays ended",
    ["check"],
    async ({ store, manager }) => {
      const past = new Date(Date.now() - 1000).toISOString();
      await write(store, "berlin", "lives in Berlin");
      await write(store, "hotel", "stays in a hotel", { supersedes: ["berlin"], expiresAt: past });
      const mine = { sessionId: "", label: "facts", scope: "user" } as const;
      const ada = store.forUser("ada");
      await ada.entries.set(mine, { key: "pin", content: "1234", expiresAt: past });
      await ada.entries.set(mine, { key: "later", content: "1234", expiresAt: "2999-01-01" });
      expect((await manager.retain({ keepVersions: 50, dryRun: true })).deleted.entries).toBe(2);
      expect((await manager.retain({})).deleted.entries).toBe(2);
      expect(await store.entries.get(FACTS, "hotel")).toBe(null);
      expect(await store.entries.versions(FACTS, "hotel")).toEqual([]);
      expect((await ends(store, "berlin")).slice(1)).toEqual(["ended", []]);
      expect((await ada.entries.list(mine)).map(({ key }) => key)).toEqual(["later"]);
      expect((await store.check?.())?.problems).toEqual([]);
    },
  );

  it("makes hold what a provider writes of an entry that has ended, and refuses one that is superseded", async ({
    store,
  }) => {
    const provider = new AgentSearchProvider(store, { label: "facts" }).forSession("main");
    await write(store, "city", "lives in Berlin", { validTo: "2025-06-01", tags: ["home"] });
    await provider.set("city", "lives in Berlin again");
    expectParts(await store.entries.list(FACTS), [{ key: "city", validTo: null, tags: ["home"] }]);
    await provider.set("lisbon", "lives in Lisbon", undefined, {
      fact: { supersedes: ["city"], validFrom: "2025-07-01" },
    });
    await expectError(provider.set("city", "Berlin"), "ENTRY_CONFLICT");
    await expectError(provider.append("city", "Berlin"), "ENTRY_CONFLICT");
    expect(await keys(store)).toEqual(["lisbon"]);
  });

  it("writes together what ends another entry, or nothing", ["transactions"], async ({ store }) => {
    const set = (key: string, fields: EntryFields) => ({ entries: FACTS, key, content: key, ...fields });
    await expectError(store.writeTogether([set("a", {}), set("b", { supersedes: ["x"] })]), "INVALID_ARGUMENT");
    expect(await keys(store)).toEqual([]);
    await store.writeTogether([set("a", {}), set("b", { supersedes: ["a"], tags: ["t"] })]);
    expectParts(await store.entries.list(FACTS), [{ key: "b", tags: ["t"] }]);
  });

  it("ends an entry by each of many successors that are written at once", ["durable"], async (workspace) => {
    const others = await Promise.all(Array.from({ length: 2 }, () => workspace.connect()));
    const stores = [workspace.store, ...others.map(({ store }) => store)];
    await write(workspace.store, "berlin", "lives in Berlin");
    await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        write(stores[index % stores.length] as Store, `s${index}`, "moved", { supersedes: ["berlin"] }),
      ),
    );
    const entry = await workspace.store.entries.get(FACTS, "berlin");
    expect([...(entry?.supersededBy ?? [])].sort()).toEqual(["s0", "s1", "s2", "s3", "s4", "s5"]);
  });

  it("goes with a fork and a claim as it is", async ({ store, manager }) => {
    await chain(await manager.getSession("main"), ["a"]);
    await write(store, "berlin", "lives in Berlin", { tags: ["home"] });
    await write(store, "lisbon", "lives in Lisbon", { supersedes: ["berlin"] });
    const fork = await manager.fork("main", "a", "copy");
    const all = (sessionId: string) => store.entries.list({ ...FACTS, sessionId }, { includeEnded: true });
    const plain = (entries: readonly object[]) => entries.map((entry) => ({ ...entry, createdAt: "", updatedAt: "" }));
    expect(plain(await all(fork.id))).toEqual(plain(await all("main")));
    const mine = { sessionId: "", label: "facts", scope: "user" } as const;
    await store.forUser("guest").entries.set(mine, { key: "berlin", content: "Berlin" });
    await store.forUser("guest").entries.set(mine, { key: "lisbon", content: "Lisbon", supersedes: ["berlin"] });
    await store.sessions.claim("guest", "ada");
    expectParts(await store.forUser("ada").entries.list(mine), [{ key: "lisbon" }]);
  });
});
