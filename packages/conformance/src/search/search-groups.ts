import type { SearchGroup } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";

const NEEDS = ["search"] as const;

const shown = ({ sessionId, hits, exchange }: SearchGroup) => [
  sessionId,
  exchange?.user?.id ?? null,
  exchange?.answer?.id ?? null,
  idsOf(hits),
];

export const searchGroups = defineTopic("search groups", (it) => {
  it(
    "gives a user's message with its answer as one exchange, and which of them matched",
    NEEDS,
    async ({ manager }) => {
      const createdAt = "2024-05-04T10:00:00.000Z";
      await manager.appendAll("one", [
        message("hello", "Zebra here, how can I help?", "assistant"),
        { ...message("q1", "Where do we sail?"), metadata: { name: "Grace" }, createdAt },
        message("t1", "zebra zebra zebra", "tool"),
        message("a1", "To the zebra island.", "assistant"),
        message("q2", "And then?"),
        message("a2", "Home.", "assistant"),
      ]);
      await manager.appendAll("two", [message("q1", "Is a zebra striped? A zebra!")]);
      const { results, nextCursor } = await manager.searchGroups("zebra", { groupBy: "exchange" });
      expect(nextCursor).toBe(null);
      const byKey = new Map(results.map((group) => [`${group.sessionId} ${group.exchange?.user?.id}`, group]));
      expect([...byKey.keys()].sort()).toEqual(["one q1", "one undefined", "two q1"]);
      const answered = byKey.get("one q1") as SearchGroup;
      expect(idsOf(answered.hits).sort()).toEqual(["a1", "t1"]);
      expect(answered.exchange).toEqual({
        user: { id: "q1", role: "user", name: "Grace", content: "Where do we sail?", createdAt, matched: false },
        answer: {
          id: "a1",
          role: "assistant",
          content: "To the zebra island.",
          createdAt: answered.hits.find(({ id }) => id === "a1")?.createdAt,
          matched: true,
        },
      });
      const before = byKey.get("one undefined") as SearchGroup;
      expect([before.exchange?.user, before.exchange?.answer?.id]).toEqual([null, "hello"]);
      const alone = byKey.get("two q1") as SearchGroup;
      expect([alone.exchange?.user?.matched, alone.exchange?.answer]).toEqual([true, null]);
      expect("exchange" in (alone.hits[0] ?? {})).toBe(false);
    },
  );

  it("gives the results of a session as one group", NEEDS, async ({ manager, sessionOf }) => {
    await sessionOf("many").appendAll(numbered("m", 5).map((id) => message(id, "zebra crossing")));
    await sessionOf("few").appendMessage(message("f", "zebra"));
    await sessionOf("none").appendMessage(message("n", "okapi"));
    const search = async (options: object = {}) => {
      const { results } = await manager.searchGroups("zebra crossing", { groupBy: "session", ...options });
      return results.map(({ sessionId, hits, exchange }) => [sessionId, hits.length, exchange]);
    };
    expect(await search()).toEqual([
      ["many", 3, undefined],
      ["few", 1, undefined],
    ]);
    expect(await search({ groupSize: 100 })).toEqual([
      ["many", 5, undefined],
      ["few", 1, undefined],
    ]);
    expect(await search({ groupSize: 1, limit: 1 })).toEqual([["many", 1, undefined]]);
    expect(await search({ sessionIds: ["few", "none"] })).toEqual([["few", 1, undefined]]);
    const [own] = (await sessionOf("many").searchGroups("zebra", { groupBy: "session" })).results;
    expect([own?.sessionId, own?.hits.length]).toEqual(["many", 3]);
  });

  it(
    "ranks the best result first, above which several lift a group a little",
    NEEDS,
    async ({ manager, sessionOf }) => {
      await sessionOf("other").appendAll(numbered("o", 30).map((id) => message(id, "nothing of that kind")));
      for (const id of ["single", "several"]) await sessionOf(id).appendMessage(message("z", "a zebra of mine"));
      await sessionOf("several").appendAll(["x", "y"].map((id) => message(id, "a zebra of mine")));
      const { results } = await manager.searchGroups("zebra", { groupBy: "session" });
      expect(results.map(({ sessionId }) => sessionId)).toEqual(["several", "single"]);
      const [several, single] = results;
      for (const group of results) expect(group.score).toBeAtLeast(group.hits[0]?.score ?? 0);
      expect((several?.score ?? 0) > (single?.score ?? 0)).toBe(true);
      expect(single?.score).toBe(single?.hits[0]?.score);
    },
  );

  it("gives pages of groups that neither repeat nor leave out one", NEEDS, async ({ manager, session }) => {
    const words = ["zebra", "okapi", "quagga"];
    for (const [index, id] of numbered("s", 23).entries()) {
      const text = (row: number) => `${words.slice(0, 1 + ((row + index) % 3)).join(" ")}${" x".repeat(row % 5)}`;
      const messages = numbered("m", 8 + (index % 9)).map((each, row) =>
        message(each, text(row), row % 2 === 0 ? "user" : "assistant"),
      );
      await manager.appendAll(id, messages);
    }
    for (const [groupBy, count] of [
      ["session", 23],
      ["exchange", 141],
    ] as const) {
      const options = { groupBy, groupSize: 2 };
      const whole = (await manager.searchGroups("zebra quagga", { ...options, limit: 500 })).results;
      const found = groupBy === "session" ? count : whole.length;
      expect(whole.length).toBe(found);
      expect(new Set(whole.map((group) => JSON.stringify(shown(group).slice(0, 2)))).size).toBe(found);
      const seen: SearchGroup[] = [];
      let cursor: string | null = null;
      do {
        const page: { results: SearchGroup[]; nextCursor: string | null } = await manager.searchGroups("zebra quagga", {
          ...options,
          limit: 10,
          cursor,
        });
        seen.push(...page.results);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen.slice(0, whole.length).map(shown)).toEqual(whole.slice(0, seen.length).map(shown));
      expect(new Set(seen.map((group) => JSON.stringify(shown(group).slice(0, 2)))).size).toBe(seen.length);
      const scores = seen.map(({ score }) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    }
    expect(await session.searchGroups("zebra", { groupBy: "session" })).toEqual({ results: [], nextCursor: null });
  });

  it(
    "looks for exchanges on the path: that to `leafId`, the active one, or the message's own",
    NEEDS,
    async ({ session }) => {
      // root ─ q ─ a1 ─ q3 ─ a3
      //        └── a2 ─ q2 ─ b2     (active)
      await session.appendAll([
        message("root", "greetings", "assistant"),
        message("q", "zebra question"),
        message("a1", "first answer, okapi", "assistant"),
        message("q3", "go on"),
        message("a3", "third answer", "assistant"),
      ]);
      await session.appendMessage(message("a2", "second answer, quagga", "assistant"), "q");
      await session.appendAll([message("q2", "go on then"), message("b2", "last answer, gnu", "assistant")]);
      const one = async (query: string, options: object = {}) => {
        const { results } = await session.searchGroups(query, { groupBy: "exchange", ...options });
        return results.map((group) => [group.exchange?.user?.id, group.exchange?.answer?.id, idsOf(group.hits)]);
      };
      expect(await one("zebra")).toEqual([["q", "a2", ["q"]]]);
      expect(await one("zebra", { leafId: "a3" })).toEqual([["q", "a1", ["q"]]]);
      expect(await one("okapi")).toEqual([["q", "a1", ["a1"]]]);
      expect(await one("quagga")).toEqual([["q", "a2", ["a2"]]]);
      expect(await one("gnu")).toEqual([["q2", "b2", ["b2"]]]);
      expect(await one("third")).toEqual([["q3", "a3", ["a3"]]]);
      expect(await one("gnu", { leafId: "a3" })).toEqual([]);
    },
  );

  it("takes the filters of a search, and explains its results", NEEDS, async ({ session, manager }) => {
    await session.appendAll([
      { ...message("a", "zebra", "user"), createdAt: "2024-05-01T00:00:00Z" },
      { ...message("b", "zebra", "assistant"), createdAt: "2024-06-01T00:00:00Z", metadata: { topic: "travel" } },
      { ...message("c", "zebra", "user"), createdAt: "2024-07-01T00:00:00Z" },
    ]);
    const found = async (options: object) =>
      (await session.searchGroups("zebra", { groupBy: "exchange", ...options })).results
        .map((group) => [group.exchange?.user?.id, idsOf(group.hits).sort()])
        .sort();
    expect(await found({})).toEqual([
      ["a", ["a", "b"]],
      ["c", ["c"]],
    ]);
    expect(await found({ after: "2024-06-01" })).toEqual([
      ["a", ["b"]],
      ["c", ["c"]],
    ]);
    expect(await found({ before: "2024-06-01" })).toEqual([["a", ["a"]]]);
    expect(await found({ role: "assistant" })).toEqual([["a", ["b"]]]);
    expect(await found({ metadata: { topic: "travel" } })).toEqual([["a", ["b"]]]);
    const explained = await manager.searchGroups("zebra", { groupBy: "session", explain: true });
    expect(explained.results[0]?.hits[0]?.explanation?.words.map(({ word }) => word)).toEqual(["zebra"]);
    const plain = await manager.searchGroups("zebra", { groupBy: "session" });
    expect(plain.results[0]?.hits[0]?.explanation).toBe(undefined);
  });

  it("answers any query, and refuses options that are none", NEEDS, async ({ session, manager }) => {
    await session.appendMessage(message("a", "zebra of the week"));
    for (const query of ["", " ", "the of", "z", "\0", '" OR NOT (', "filler ".repeat(15_000)]) {
      const { results } = await manager.searchGroups(query, { groupBy: "exchange" });
      expect(results.length).toBe(query === "the of" ? 1 : 0);
    }
    expect(
      (await session.searchGroups(`zebra ${"filler ".repeat(15_000)}`, { groupBy: "session" })).results.length,
    ).toBe(1);
    const wrong: object[] = [
      {}, { groupBy: "user" }, { groupBy: "session", groupSize: 0 }, { groupBy: "session", groupSize: 101 },
      { groupBy: "session", limit: 0 }, { groupBy: "session", context: 1 }, { groupBy: "session", cursor: "x" },
    ]; // biome-ignore format: one list
    for (const options of wrong) {
      await expectError(session.searchGroups("zebra", options as never), "INVALID_ARGUMENT");
      await expectError(manager.searchGroups("zebra", options as never), "INVALID_ARGUMENT");
    }
    await expectError(session.searchGroups(5 as never, { groupBy: "session" }), "INVALID_ARGUMENT");
    await expectError(session.searchGroups("zebra", { groupBy: "session", leafId: "unknown" }), "MESSAGE_NOT_FOUND");
  });
});
