import type {
  ConsolidateOptions,
  EmbeddableStore,
  EntryScope,
  EntryView,
  MergeRequest,
  Store,
  StoredEntry,
} from "@stemma/store";
import { expect, expectError, expectParts } from "../assert.js";
import { message } from "../samples.js";
import { hashingEmbedder } from "../search/hashing-embedder.js";
import { defineTopic } from "../topic.js";

const FACTS: EntryScope = { sessionId: "", label: "facts", scope: "user" };
const [MARCH, MAY] = ["2025-03-01T00:00:00.000Z", "2025-05-01T00:00:00.000Z"];

/** A user's facts, and reads of them. */
async function world(everything: Store, facts: readonly StoredEntry[]) {
  const store = everything.forUser("ada");
  for (const fact of facts) await store.entries.set(FACTS, fact);
  return {
    store,
    holding: async () => (await store.entries.list(FACTS)).map(({ content }) => content).toSorted(),
    get: (key: string) => store.entries.get(FACTS, key),
    reasons: async (options: ConsolidateOptions) =>
      (await store.consolidate(options)).skipped.map(({ reason }) => reason),
  };
}

const BERLIN: readonly StoredEntry[] = [
  { key: "a", content: "Ada lives in Berlin.", validFrom: MAY, tags: ["subject:home", "city"], origin: "import" },
  { key: "b", content: "Ada is a resident of Berlin.", validFrom: MARCH, tags: ["subject:home"], origin: "user" },
  { key: "c", content: "Ada drinks green tea.", origin: "user" },
];

/** An extractor that makes each group one. */
const mergeAll = ({ groups }: MergeRequest) =>
  groups.map((group) => ({ keys: group.map(({ key }) => key), content: "Ada lives in Berlin." }));

/** Entries that say the same, which become one. */
export const consolidating = defineTopic("consolidation", (it) => {
  it("merges what literally says the same, and asks nobody", async ({ store: everything }) => {
    const { store, holding, get } = await world(everything, [
      { key: "a", content: "Likes tea." },
      { key: "b", content: "likes  tea" },
      { key: "c", content: "Likes C" },
      { key: "d", content: "Likes C#" },
      { key: "e", content: "!" },
      { key: "f", content: "…" },
      { key: "g", content: "The word is Tiger" },
      { key: "h", content: "The word is tiger" },
      { key: "i", content: "The word is tiger", tags: ["subject:work"] },
    ]);
    const { merges, skipped, dryRun, usage } = await store.consolidate();
    expect([merges.map(({ originals }) => originals.map(({ key }) => key)), skipped, dryRun]).toEqual([
      [["a", "b"]],
      [],
      false,
    ]);
    expect(usage).toEqual({ inputTokens: 0, outputTokens: 0, cost: 0 });
    const others = ["!", "Likes C", "Likes C#", "…", "The word is Tiger", "The word is tiger", "The word is tiger"];
    expect(await holding()).toEqual([...others, merges[0]?.content].toSorted());
    expect((await get("a"))?.supersededBy).toEqual([merges[0]?.key]);
    expect((await store.consolidate()).merges).toEqual([]);
  });

  it("proposes before it merges, merges what was proposed, and takes it back", async ({ store: everything }) => {
    const { store, holding, get } = await world(everything, BERLIN);
    const before = await Promise.all(["a", "b", "c"].map(get));
    let asked = 0;
    const proposal = await store.consolidate({
      dryRun: true,
      extract: (request) => {
        asked += 1;
        expect(request.groups.map((group) => group.map(({ key }) => key))).toEqual([["a", "b"]]);
        expect(request.prompt).toInclude("Ada is a resident of Berlin.");
        return [{ keys: ["a", "b"], key: "Home Berlin", content: "Ada lives in Berlin." }];
      },
    });
    expect(await Promise.all(["a", "b", "c"].map(get))).toEqual(before);
    const merge = {
      label: "facts",
      key: "home-berlin",
      content: "Ada lives in Berlin.",
      originals: [
        { key: "a", content: "Ada lives in Berlin." },
        { key: "b", content: "Ada is a resident of Berlin." },
      ],
    };
    expect([proposal.dryRun, proposal.merges, proposal.skipped, asked]).toEqual([true, [merge], [], 1]);
    const proposed = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 5));
    // It may have been in a file.
    const done = await store.consolidate({ apply: JSON.parse(JSON.stringify(proposal.merges)) });
    expect([done.dryRun, done.merges, asked]).toEqual([false, [merge], 1]);
    expect(await holding()).toEqual(["Ada drinks green tea.", "Ada lives in Berlin."]);
    expectParts(await get("home-berlin"), {
      validFrom: MARCH,
      validTo: null,
      tags: ["subject:home", "city"],
      origin: "import",
      supersedes: ["a", "b"],
    });
    // No time shows both; of when one was true, the merged one tells.
    for (const [key, began] of [
      ["a", MAY],
      ["b", MARCH],
    ] as const) {
      expectParts(await get(key), { validFrom: began, validTo: began, supersededBy: ["home-berlin"] });
    }
    const keysAt = async (view: EntryView) => (await store.entries.list(FACTS, view)).map(({ key }) => key);
    for (const asOf of ["2025-04-01", "2025-06-01", "2999-01-01"]) {
      expect(await keysAt({ asOf })).toEqual(["c", "home-berlin"]);
    }
    expect(await keysAt({ asOf: "2025-02-01" })).toEqual(["c"]);
    expect(await keysAt({ knownAt: proposed })).toEqual(["a", "b", "c"]);
    expect(await keysAt({ knownAt: proposed, asOf: "2025-04-01" })).toEqual(["b", "c"]);
    // Whoever edits it later moves no end.
    await store.entries.set(FACTS, { key: "home-berlin", content: "Ada lives in Berlin.", origin: "web" });
    expect((await get("a"))?.validTo).toBe(MAY);
    await store.entries.set(FACTS, { key: "lisbon", content: "Ada lives in Lisbon.", supersedes: ["home-berlin"] });
    const [refused] = (await store.consolidate({ undo: done.merges })).skipped;
    expect(refused?.reason).toBe(
      '"home-berlin" is superseded by "lisbon" by now: undo or remove "lisbon" first, or let it supersede the originals itself',
    );
    await store.entries.delete(FACTS, "lisbon");
    expect((await store.consolidate({ undo: done.merges, dryRun: true })).merges).toEqual([merge]);
    expect((await store.consolidate({ undo: done.merges })).merges).toEqual([merge]);
    expect(await Promise.all(["a", "b", "c"].map(get))).toEqual(before);
    expect(await get("home-berlin")).toBe(null);
    const again = await store.consolidate({ undo: done.merges });
    expect([again.merges, again.skipped.map(({ reason }) => reason)]).toEqual([
      [],
      ['"home-berlin" was changed since, or is undone already'],
    ]);
  });

  it("opens an original where the merged entry is removed alone", async ({ store: everything }) => {
    const { store, holding } = await world(everything, BERLIN);
    const { merges } = await store.consolidate({ extract: mergeAll });
    await store.entries.delete(FACTS, merges[0]?.key ?? "");
    expect(await holding()).toEqual(BERLIN.map(({ content }) => content).toSorted());
  });

  it("leaves what a person changed meanwhile, and merges the rest", async ({ store: everything }) => {
    const { store, holding, get } = await world(everything, [
      ...BERLIN,
      { key: "x", content: "Plays the old piano." },
      { key: "y", content: "Plays an old piano at home." },
    ]);
    const { merges, skipped } = await store.consolidate({
      extract: async ({ groups }) => {
        await store.entries.set(FACTS, { key: "a", content: "Ada lives in Bern." });
        return groups.map((group) => ({ keys: group.map(({ key }) => key), content: group[0]?.content ?? "" }));
      },
    });
    expect(merges.map(({ originals }) => originals.map(({ key }) => key))).toEqual([["x", "y"]]);
    expect(skipped.map(({ reason }) => reason)).toEqual(['"a" was changed meanwhile']);
    expect(await holding()).toInclude("Ada lives in Bern.");
    // Also what was closed, or removed, between a proposal and its making, and a merged entry that somebody changed.
    const proposal = await store.consolidate({
      dryRun: true,
      extract: () => [{ keys: ["a", "b"], content: "Ada lives in Berlin." }],
    });
    await store.entries.set(FACTS, { key: "b", content: "Ada is a resident of Berlin.", validTo: "2999-01-01" });
    expect((await store.consolidate({ apply: proposal.merges })).merges).toEqual([]);
    await store.entries.delete(FACTS, "b");
    expect((await store.consolidate({ apply: proposal.merges })).merges).toEqual([]);
    await store.entries.set(FACTS, { key: merges[0]?.key ?? "", content: "Plays the organ." });
    expect((await store.consolidate({ undo: merges })).merges).toEqual([]);
    expect((await get("x"))?.supersededBy).toEqual([merges[0]?.key]);
  });

  it("shows at no time an entry beside those that it merges, though nobody knows when they began", async ({
    store: everything,
  }) => {
    const { store, get } = await world(everything, [
      { key: "a", content: "Likes tea." },
      { key: "b", content: "likes  tea" },
      { key: "z", content: "Likes milk." },
    ]);
    const { merges } = await store.consolidate();
    const [{ key: merged = "" } = {}] = merges;
    const keysAt = async (asOf: string) => (await store.entries.list(FACTS, { asOf })).map(({ key }) => key).sort();
    for (const asOf of ["0000-01-01", "2025-01-01", "2999-01-01"]) {
      expect(await keysAt(asOf)).toEqual([merged, "z"].sort());
    }
    await store.entries.set(FACTS, { key: merged, content: "Likes tea.", validFrom: "2025-03-01" });
    expect([(await get("a"))?.validTo, (await keysAt("2025-01-01")).length]).toEqual([MARCH, 3]);
    // Whoever merges by hand says so.
    const byHand = { key: "m", content: "Likes drinks.", supersedes: [merged, "z"] };
    await store.entries.set(FACTS, byHand, { merges: true });
    expect(await keysAt("2025-06-01")).toEqual(["m"]);
  });

  it("makes of whatever an extractor gives only merges of what it was shown", async ({ store: everything }) => {
    const { store, holding, get, reasons } = await world(everything, [
      ...BERLIN,
      { key: "d", content: "Works in Berlin.", tags: ["subject:work"] },
      { key: "e", content: "Lives in Berlin until June.", validTo: "2999-06-01" },
      { key: "f", content: "Lives in Berlin, a record.", value: { id: 1 } },
      { key: "g", content: "Lives in Berlin, for a while.", expiresAt: "2999-06-01" },
    ]);
    const given = [
      null,
      7,
      "merge",
      { keys: "ab", content: "x" },
      { keys: ["a", "b"] },
      { keys: ["a", "b"], content: "  \0" },
      { keys: [], content: "x" },
      { keys: ["a", "a"], content: "x" },
      { keys: ["a", "invented"], content: "x" },
      { keys: ["a", "c"], content: "tea" },
      { keys: ["a", "e"], content: "x" },
      { keys: ["a", "f"], content: "x" },
      { keys: ["a", "g"], content: "x" },
      { keys: ["a", "b"], content: "Ada lives in Berlin, ".repeat(40) },
      { keys: ["a", "b"], key: "a", content: "Ada lives in Berlin." },
      { keys: ["b", "a"], content: "Ada lives in Berlin." },
    ];
    const extract = () => given as never[];
    const unknown = (key: string) => `"${key}" was not shown, or is merged already`;
    expect(await reasons({ dryRun: true, extract })).toEqual([
      ...new Array<string>(5).fill("it is no merge"),
      "it has no content",
      "it names fewer than two entries",
      "it names fewer than two entries",
      ...["invented", "c", "e", "f", "g"].map(unknown),
      "it says more than what it merges",
      unknown("b"),
    ]);
    const { merges } = await store.consolidate({ extract });
    expect([merges.length, merges[0]?.originals.map(({ key }) => key)]).toEqual([1, ["a", "b"]]);
    // A key that is taken is not its own: no circle.
    expect(merges[0]?.key.startsWith("a-")).toBe(true);
    expect((await get("a"))?.content).toBe("Ada lives in Berlin.");
    expect((await holding()).length).toBe(6);
    // What was merged is merged with others in turn.
    const next = await store.consolidate({
      apply: [
        {
          label: "facts",
          key: "n",
          content: "Berlin",
          originals: [
            { key: "c", content: "Ada drinks green tea." },
            { key: merges[0]?.key ?? "", content: "Ada lives in Berlin." },
          ],
        },
      ],
    });
    expect(next.merges.length).toBe(1);
    await store.consolidate({ undo: merges });
    expect((await get("a"))?.validTo === null).toBe(false);
    await store.consolidate({ undo: next.merges });
    await store.consolidate({ undo: merges });
    expect((await get("a"))?.validTo).toBe(null);
  });

  it("refuses merges of two subjects, and more than its limit", async ({ store: everything }) => {
    const facts = ["a", "b", "c", "d", "e", "f"].map((key) => ({ key, content: "Likes tea." }));
    const { store, holding, reasons } = await world(everything, facts);
    await store.entries.set(FACTS, { key: "h", content: "Is at Siemens.", tags: ["subject:home"] });
    await store.entries.set(FACTS, { key: "w", content: "Is at Siemens!", tags: ["subject:work"] });
    const apply = [
      {
        label: "facts",
        key: "m",
        content: "Is at Siemens.",
        originals: [
          { key: "h", content: "Is at Siemens." },
          { key: "w", content: "Is at Siemens!" },
        ],
      },
    ];
    expect(await reasons({ apply })).toEqual(["they are of different subjects: home, work"]);
    expect(await reasons({ dryRun: true })).toEqual([]);
    const two = [
      { keys: ["a", "b"], content: "Likes tea." },
      { keys: ["c", "d", "e"], content: "Likes tea." },
    ];
    expect(await reasons({ dryRun: true, limit: 3, extract: () => two })).toEqual(["at most 3 entries are closed"]);
    const { merges } = await store.consolidate({ limit: 4 });
    expect([merges.map(({ originals }) => originals.length), (await holding()).length]).toEqual([[4], 5]);
    let rounds = 0;
    while ((await store.consolidate({ limit: 2 })).merges.length > 0) rounds += 1;
    expect([rounds, (await holding()).filter((each) => each.startsWith("Likes")).length]).toEqual([2, 1]);
  });

  it("never merges across labels, users or keys", async ({ store: everything }) => {
    const { store, holding } = await world(everything, [{ key: "a", content: "Likes tea." }]);
    const shared = { ...FACTS, scope: { key: "team" } } as const;
    const others = [{ ...FACTS, label: "prefs" }, shared];
    for (const scope of others) await store.entries.set(scope, { key: "b", content: "Likes tea." });
    const bob = everything.forUser("bob");
    await bob.entries.set(FACTS, { key: "b", content: "Likes tea." });
    for (const extract of [undefined, mergeAll]) {
      expect((await store.consolidate({ extract })).merges).toEqual([]);
      expect((await everything.consolidate({ scope: { key: "team" }, extract })).merges).toEqual([]);
    }
    await store.entries.set(shared, { key: "c", content: "likes  tea" });
    await store.entries.set({ ...FACTS, label: "prefs" }, { key: "c", content: "likes  tea" });
    expect((await store.consolidate({ label: "facts" })).merges).toEqual([]);
    expect((await store.consolidate()).merges.map(({ label }) => label)).toEqual(["prefs"]);
    const { merges } = await everything.consolidate({ scope: { key: "team" } });
    expect(merges.map(({ originals }) => originals.length)).toEqual([2]);
    expect([(await bob.entries.list(FACTS)).length, await holding()]).toEqual([1, ["Likes tea."]]);
    await expectError(everything.consolidate(), "USER_REQUIRED");
  });

  it("writes nothing where the extractor throws, is late or cannot be read", async ({ store: everything }) => {
    const { store, get } = await world(everything, BERLIN);
    const fail = () => {
      throw new RangeError("no model today");
    };
    const { cause } = await expectError(store.consolidate({ extract: fail }), "LEARNING_FAILED");
    expect(String(cause)).toBe("RangeError: no model today");
    const late = () => new Promise<never>(() => {});
    await expectError(store.consolidate({ extract: late, timeout: 20 }), "LEARNING_FAILED");
    for (const answer of ["I merge nothing.", {}, 7, undefined]) {
      await expectError(store.consolidate({ extract: () => answer as never }), "LEARNING_FAILED");
    }
    expect((await store.consolidate({ extract: () => null })).merges).toEqual([]);
    expect((await get("a"))?.validTo).toBe(null);
    for (const merge of [null, {}, { label: "facts", key: "k", content: "x", originals: [{ key: "a" }] }]) {
      const { skipped } = await store.consolidate({ apply: [merge as never] });
      expect(skipped.map(({ reason }) => reason)).toEqual(["it is no merge"]);
      expect((await store.consolidate({ undo: [merge as never] })).skipped.length).toBe(1);
    }
  });

  it("reads a model's answer, and counts what it used apart", async ({ store: everything, manager }) => {
    const { store, holding } = await world(everything, BERLIN);
    await manager.forUser("ada").append("chat", message("m1"));
    const answer =
      'Sure:\n```json\n[{"entries":[1,2],"content":"Ada lives in Berlin.","key":"Home"},{"entries":[9],"content":"x"}]\n```';
    const usage = { inputTokens: 90, outputTokens: 12, cost: 0.02 };
    const done = await store.consolidate({ extract: () => ({ text: answer, usage }) });
    expect([done.usage, done.merges.map(({ key }) => key)]).toEqual([usage, ["home"]]);
    expect(await holding()).toEqual(["Ada drinks green tea.", "Ada lives in Berlin."]);
    await store.consolidate({ undo: done.merges });
    // Paid is paid.
    await expectError(store.consolidate({ extract: () => ({ text: "no", usage }) }), "LEARNING_FAILED");
    expect(await manager.getUsage({ by: "model" })).toEqual([
      { name: "consolidation", requests: 2, inputTokens: 180, outputTokens: 24, cost: 0.04 },
    ]);
  });

  it("asks no more once its calls have cost enough, or tell no cost", async ({ store: everything }) => {
    // Two groups, too large for one call.
    const long = (word: string) => `${word} `.repeat(6_000);
    const { store } = await world(
      everything,
      ["red", "blue"].flatMap((word) => ["1", "2"].map((end) => ({ key: word + end, content: long(word) + end }))),
    );
    let calls = 0;
    const extract = (cost: number | undefined) => () => {
      calls += 1;
      return { merges: [], usage: { cost } };
    };
    for (const [cost, maxCost, expected] of [
      [0.02, undefined, 2],
      [0.02, 0.03, 2],
      [0.02, 0.02, 1],
      [undefined, 5, 1],
    ] as const) {
      calls = 0;
      await store.consolidate({ dryRun: true, maxCost, extract: extract(cost) });
      expect(calls).toBe(expected);
    }
  });

  it("notes the messages that the newest original comes from", async ({ store: everything }) => {
    const { store } = await world(everything, []);
    const origin = (sessionId: string, ...messageIds: string[]) => ({
      origin: { author: "learning", sessionId, messageIds } as const,
    });
    await store.entries.set(FACTS, { key: "a", content: "Likes tea." }, origin("monday", "m1"));
    await store.entries.set(FACTS, { key: "b", content: "likes  tea" }, origin("tuesday", "m2"));
    const { merges } = await store.consolidate();
    const [version] = await store.entries.versions(FACTS, merges[0]?.key ?? "");
    expectParts(version, { author: "learning", sessionId: "tuesday", messageIds: ["m2"] });
  });

  it("looks only at what is near something that was written since", async ({ store: everything }) => {
    const { store } = await world(everything, [
      { key: "a", content: "Likes tea." },
      { key: "b", content: "likes  tea" },
    ]);
    expect((await store.consolidate({ dryRun: true, after: Date.now() + 60_000 })).merges).toEqual([]);
    expect((await store.consolidate({ dryRun: true, after: new Date(0) })).merges.length).toBe(1);
  });

  it("merges once where two do it at once", ["durable"], async (workspace) => {
    const { store, holding } = await world(workspace.store, [
      ...BERLIN,
      ...["p", "q", "r", "s"].map((key) => ({ key, content: "Likes tea." })),
    ]);
    const others = await Promise.all([1, 2, 3].map(() => workspace.connect()));
    const stores = [store, ...others.map((each) => each.store.forUser("ada"))];
    const extract = ({ groups }: MergeRequest) =>
      groups.map((group, at) => ({
        keys: group.map(({ key }) => key),
        content: group[0]?.content ?? "",
        key: `g${at}`,
      }));
    const done = await Promise.all(stores.map((each) => each.consolidate({ extract })));
    expect(done.flatMap(({ merges }) => merges).length).toBe(2);
    expect((await holding()).length).toBe(3);
    const undone = await Promise.all(
      stores.map((each) => each.consolidate({ undo: done.flatMap(({ merges }) => merges) })),
    );
    expect(undone.flatMap(({ merges }) => merges).length).toBe(2);
    expect((await holding()).length).toBe(7);
  });

  it("finds by meaning what shares no words", ["search", "embeddings"], async (workspace) => {
    const store = (workspace.store as EmbeddableStore).withEmbedder(hashingEmbedder());
    const ada = store.forUser("ada") as typeof store;
    await ada.entries.set(FACTS, { key: "a", content: "vegetarianism" });
    await ada.entries.set(FACTS, { key: "b", content: "vegetarians" });
    await ada.entries.set(FACTS, { key: "c", content: "plays guitar" });
    await store.embeddings.flush();
    const groups: string[][] = [];
    await ada.consolidate({
      extract: (request) => {
        groups.push(...request.groups.map((group) => group.map(({ key }) => key)));
        return null;
      },
    });
    expect(groups[0]).toInclude("a");
    expect(groups[0]).toInclude("b");
  });
});
