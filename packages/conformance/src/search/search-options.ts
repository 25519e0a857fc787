import type { SearchResult } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { forkedTree, idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";

const NEEDS = ["search"] as const;

export const searchOptions = defineTopic("search options", (it) => {
  it("finds messages of one role only", NEEDS, async ({ session, manager }) => {
    await session.appendAll([message("a", "zebra"), message("b", "zebra", "assistant"), message("c", "zebra", "tool")]);
    expect(idsOf(await session.search("zebra", { role: "assistant" }))).toEqual(["b"]);
    expect(idsOf(await manager.search("zebra", { role: "tool" }))).toEqual(["c"]);
    expect(await session.search("zebra", { role: "nobody" })).toEqual([]);
  });

  it("finds messages of a time only: from `after` on, until before `before`", NEEDS, async ({ session }) => {
    const dated = ["2024-01-31T23:59:59.999Z", "2024-02-01T00:00:00.000Z", "2024-02-29T12:00:00.000Z"];
    await session.appendAll(dated.map((createdAt, index) => ({ ...message(`m${index}`, "zebra"), createdAt })));
    await session.appendMessage(message("now", "zebra"));
    const found = async (options: object) => idsOf(await session.search("zebra", options)).sort();
    expect(await found({ after: "2024-02-01" })).toEqual(["m1", "m2", "now"]);
    expect(await found({ before: new Date("2024-02-01T00:00:00Z") })).toEqual(["m0"]);
    expect(await found({ after: Date.parse("2024-02-01T00:00:00Z"), before: "2024-03-01" })).toEqual(["m1", "m2"]);
    expect(await found({ after: "2024-02-01T01:00:00+02:00", before: "2024-02-01T00:00:00Z" })).toEqual(["m0"]);
    expect(await found({ after: new Date(Date.now() - 3_600_000) })).toEqual(["now"]);
  });

  it(
    "explains a result with `explain`: words, how often, what each adds, and its rank",
    NEEDS,
    async ({ session, store }) => {
      await session.appendAll([
        message("a", "A zebra beside a Zebra"),
        message("b", "the crossing"),
        message("c", "Nothing of that"),
        message("d", "zebra crossing, zebras crossing, a zebra"),
      ]);
      const request = { limit: 10, sessionId: "main" };
      const [plain] = await store.search("zebra crossing", request);
      expect(plain?.explanation).toBe(undefined);
      const hits = await store.search("zebra crossing", { ...request, explain: true });
      expect(hits.map(({ id }) => id)).toEqual(["d", "a", "b"]);
      const told = hits.map(({ explanation }) => explanation);
      expect(told.map((each) => each?.ranks)).toEqual([1, 2, 3].map((words) => ({ words, meaning: null })));
      const counts = told.map((each) => Object.fromEntries(each?.words.map(({ word, count }) => [word, count]) ?? []));
      expect(counts).toEqual([
        { zebra: 3, crossing: 2 },
        { zebra: 2, crossing: 0 },
        { crossing: 1, zebra: 0 },
      ]);
      for (const [index, each] of told.entries()) {
        const scores = each?.words.map(({ score }) => score) ?? [];
        expect(scores).toEqual(scores.toSorted((x, y) => y - x));
        // The session's best matches lend the rest.
        expect(scores.reduce((sum, score) => sum + score, 0) < (hits[index]?.score ?? 0)).toBe(true);
        expect(scores.every((score) => score > 0)).toBe(true);
      }
      // Each word tells as much: two of four messages hold it.
      expect(told.map((each) => each?.length)).toEqual([6, 5, 2]);
      expect(told[0]?.coverage).toBe(1);
      const half = told[1]?.coverage ?? 0;
      expect(half > 0.3 && half < 0.7 && Math.abs(1 - half - (told[2]?.coverage ?? 0)) < 1e-9).toBe(true);
    },
  );

  it("finds only what lies on the path to `leafId`", NEEDS, async ({ session, manager, sessionOf }) => {
    await forkedTree(session);
    const found = async (leafId: string) => idsOf(await session.search("text", { leafId })).sort();
    expect(await found("c")).toEqual(["a", "b", "c", "root"]);
    expect(await found("e")).toEqual(["a", "d", "e", "root"]);
    expect(await found("a")).toEqual(["a", "root"]);
    expect(idsOf(await manager.search("text", { leafId: "b", sessionIds: ["main"] })).sort()).toEqual([
      "a",
      "b",
      "root",
    ]);
    await expectError(session.search("text", { leafId: "unknown" }), "MESSAGE_NOT_FOUND");
    await expectError(sessionOf("empty").search("text", { leafId: "a" }), "MESSAGE_NOT_FOUND");
    await expectError(manager.search("text", { leafId: "a" }), "INVALID_ARGUMENT");
    await expectError(manager.search("text", { leafId: "a", sessionIds: ["main", "other"] }), "INVALID_ARGUMENT");
  });

  it("finds messages whose metadata has the values asked for", NEEDS, async ({ session }) => {
    await session.appendAll([
      { ...message("a", "zebra"), metadata: { topic: "travel", stars: 5, done: true, by: null } },
      { ...message("b", "zebra"), metadata: { topic: "travel", stars: "5" } },
      { ...message("c", "zebra"), metadata: { topic: 'q"%_\\é', nested: { topic: "travel" } } },
      message("d", "zebra"),
    ]);
    const found = async (metadata: Record<string, string | number | boolean | null>) =>
      idsOf(await session.search("zebra", { metadata })).sort();
    expect(await found({ topic: "travel" })).toEqual(["a", "b"]);
    expect(await found({ topic: "travel", stars: 5 })).toEqual(["a"]);
    expect(await found({ done: true })).toEqual(["a"]);
    expect(await found({ by: null })).toEqual(["a"]);
    expect(await found({ topic: 'q"%_\\é' })).toEqual(["c"]);
    expect(await found({ topic: "Travel" })).toEqual([]);
  });

  it("finds messages of the sessions asked for", NEEDS, async ({ manager, sessionOf }) => {
    for (const id of ["one", "two", "three"]) await sessionOf(id).appendMessage(message("m", "zebra"));
    const found = async (...sessionIds: string[]) =>
      (await manager.search("zebra", { sessionIds })).map(({ sessionId }) => sessionId).sort();
    expect(await found("one", "three")).toEqual(["one", "three"]);
    expect(await found("two", "two")).toEqual(["two"]);
    expect(await found("unknown", "one")).toEqual(["one"]);
    expect(await found("unknown")).toEqual([]);
    expect(await found()).toEqual([]);
  });

  it("finds of some sessions all that matches, and nothing of others", NEEDS, async ({ manager, sessionOf }) => {
    const words = ["zebra", "okapi", "quagga", "gnu"];
    const ids = numbered("s", 24);
    for (const [index, id] of ids.entries()) {
      const session = sessionOf(id);
      await session.appendAll(
        numbered("m", 12).map((each, row) =>
          message(each, `${words[(row + index) % 4]} ${words[(row * row) % 4]} of day ${row}`),
        ),
      );
      if (index % 3 === 0)
        await session.appendMessage(message("other", "zebra on another branch"), numbered("m", 12)[5]);
    }
    for (const some of [ids.filter((_, index) => index % 2 === 0), ids.slice(3, 9), [...ids.slice(0, 2), "s23"]]) {
      for (const query of ["zebra", "okapi gnu", '"quagga zebra" day', "day", "giraffe"]) {
        const found = await manager.search(query, { sessionIds: some, limit: 500 });
        const all = await manager.search(query, { limit: 500 });
        const names = (hits: readonly SearchResult[]) => hits.map(({ sessionId, id }) => `${sessionId} ${id}`).sort();
        expect(names(found)).toEqual(names(all.filter(({ sessionId = "" }) => some.includes(sessionId))));
        expect((await manager.search(query, { sessionIds: some, limit: 3 })).map(({ id }) => id)).toEqual(
          found.slice(0, 3).map(({ id }) => id),
        );
      }
    }
  });

  it("finds `limit` messages however few pass the filters", NEEDS, async ({ session }) => {
    const rare = (index: number) => index % 120 === 119;
    await session.appendAll(
      numbered("m", 1200).map((id, index) => ({
        ...message(id, rare(index) ? "zebra among others" : "zebra zebra", rare(index) ? "system" : "user"),
        metadata: { rare: rare(index) },
      })),
    );
    expect((await session.search("zebra", { role: "system", limit: 10 })).length).toBe(10);
    expect((await session.search("zebra", { metadata: { rare: true }, limit: 10 })).length).toBe(10);
    expect((await session.search("zebra", { limit: 1200 })).length).toBe(1200);
  });

  it("gives pages that neither repeat nor leave out a result", NEEDS, async ({ session, manager }) => {
    const words = ["zebra", "okapi", "quagga"];
    const text = (index: number) => words.slice(0, 1 + (index % 3)).join(" ") + " x".repeat(index % 7);
    await session.appendAll(numbered("m", 700).map((id, index) => message(id, text(index))));
    const whole = await session.search("zebra quagga", { limit: 700 });
    for (const limit of [99, 700]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: { results: SearchResult[]; nextCursor: string | null } = await session.searchPage("zebra quagga", {
          limit,
          cursor,
        });
        seen.push(...idsOf(page.results));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(idsOf(whole));
    }
    expect(idsOf(await session.search("zebra quagga", { limit: 5 }))).toEqual(idsOf(whole).slice(0, 5));
    expect(new Set(idsOf(whole)).size).toBe(700);
    const scores = whole.map(({ score }) => score ?? 0);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    const page = await manager.searchPage("okapi", { limit: 1, role: "user" });
    expect([page.results.length, typeof page.nextCursor]).toEqual([1, "string"]);
    expect(await session.searchPage("unicorn")).toEqual({ results: [], nextCursor: null });
    await expectError(session.searchPage("zebra", { cursor: "x" }), "INVALID_ARGUMENT");
  });

  it("brings the messages around a result, on its path", NEEDS, async ({ session }) => {
    await forkedTree(session);
    await session.appendMessage({ ...message("zebra", "a zebra"), metadata: { name: "Grace" } });
    const around = async (query: string, options: object) => {
      const [hit] = await session.search(query, options);
      const { before = [], after = [] } = hit?.context ?? {};
      return [idsOf(before), idsOf(after)];
    };
    expect(await around("zebra", { context: 2 })).toEqual([["d", "e"], []]);
    expect(await around("zebra", { context: 10 })).toEqual([["root", "a", "d", "e"], []]);
    expect(await around("root", { context: 2 })).toEqual([[], ["a", "d"]]);
    expect(await around("root", { context: 2, leafId: "c" })).toEqual([[], ["a", "b"]]);
    const [off] = await session.search("text of b", { context: 1 });
    expect([off?.id, idsOf(off?.context?.before ?? []), idsOf(off?.context?.after ?? [])]).toEqual(["b", ["a"], ["c"]]);
    const [hit] = await session.search("zebra", { context: 1 });
    expect(hit?.context?.before[0]?.content).toBe("text of e");
    expect(hit?.name).toBe("Grace");
    expect((await session.search("zebra"))[0]?.context).toBe(undefined);
  });

  it("shows a bounded snippet around what matched, with marks", NEEDS, async ({ session }) => {
    const text = `${"🎉 filler ".repeat(500)}The deployments failed on Friday. ${"漢字 ".repeat(500)}`;
    await session.appendAll([message("a", text), message("b", "Friday")]);
    const snippets = new Map((await session.search("deployment friday")).map(({ id, snippet }) => [id, snippet ?? ""]));
    expect(snippets.get("a")).toInclude("«deployments» failed on «Friday»");
    expect(snippets.get("a")?.length).toBeAtMost(260);
    expect(snippets.get("a")?.isWellFormed()).toBe(true);
    expect(snippets.get("b")).toBe("«Friday»");
  });

  it("tells which summaries cover a result", NEEDS, async ({ session }) => {
    await forkedTree(session);
    const first = await session.addCompaction("summary one", "root", "a");
    const second = await session.addCompaction("summary two", "a", "b");
    const covered = new Map((await session.search("text")).map(({ id, coveredBy }) => [id, coveredBy]));
    expect(covered.get("root")).toEqual([first.id]);
    expect(covered.get("a")).toEqual([second.id, first.id]);
    expect(covered.get("b")).toEqual([second.id]);
    for (const id of ["c", "d", "e"]) expect(covered.get(id)).toEqual([]);
  });

  it("refuses options that are none", NEEDS, async ({ session, manager }) => {
    await session.appendMessage(message("a", "zebra"));
    const wrong: object[] = [
      { after: "tomorrow" }, { before: new Date(Number.NaN) }, { context: -1 }, { context: 1.5 }, { context: 101 },
      { role: 1 }, { leafId: {} }, { metadata: "x" }, { metadata: { a: {} } }, { limit: 0 },
    ]; // biome-ignore format: one list
    for (const options of wrong) {
      await expectError(session.search("zebra", options), "INVALID_ARGUMENT");
      await expectError(manager.search("zebra", options), "INVALID_ARGUMENT");
    }
    await expectError(manager.search("zebra", { sessionIds: "main" } as object), "INVALID_ARGUMENT");
  });
});
