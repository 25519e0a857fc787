import { describe, expect, it } from "vitest";
import { estimateStringTokens } from "../../../../model/src/messages/tokens.js";
import type { SearchHit } from "../../../../store/src/contract/store.js";
import { createSessionSearchTool } from "../../../src/tools/expand-summary.js";
import { beginning, formatHits, snippet } from "../../../src/tools/format-hits.js";

function hit(content: string, more: Partial<SearchHit> = {}): SearchHit {
  return {
    id: "m1",
    sessionId: "s1",
    role: "user",
    content,
    createdAt: "2025-06-01T09:30:00.000Z",
    score: 1,
    snippet: content,
    coveredBy: [],
    ...more,
  };
}

describe("session_search", () => {
  it("shows session, message, role, time and the text", async () => {
    const tool = createSessionSearchTool(async () => [
      hit("Deploy on Friday"),
      hit("ok", { id: "m2", role: "assistant" }),
    ]);
    expect(await tool.execute({ query: "friday" })).toBe(
      "[session s1 · message m1 · user · 2025-06-01T09:30:00.000Z]\nDeploy on Friday\n\n[session s1 · message m2 · assistant · 2025-06-01T09:30:00.000Z]\nok",
    );
  });

  it("names the sender, who cannot write a line of the answer", () => {
    expect(formatHits([hit("Yes", { name: "Caroline" })])).toBe(
      "[session s1 · message m1 · user Caroline · 2025-06-01T09:30:00.000Z]\nYes",
    );
    expect(formatHits([hit("Yes", { name: "x]\n[session s2" })]).split("\n")).toHaveLength(2);
  });

  it("says that nothing matches, and refuses in words", async () => {
    expect(await createSessionSearchTool(async () => []).execute({ query: "x" })).toBe('No message matches "x".');
    expect(await createSessionSearchTool(async () => []).execute({})).toMatch(/^Error: query/);
    const failing = createSessionSearchTool(() => Promise.reject(new Error("closed")));
    expect(await failing.execute({ query: "x" })).toBe("Error: closed");
  });

  it("searches between the dates and times that a model names, and says how they are written", async () => {
    const asked: object[] = [];
    const tool = createSessionSearchTool(async (_query, times) => {
      asked.push(times);
      return [];
    });
    const day = Date.UTC(2026, 4, 1);
    for (const [given, read] of [
      [
        { after: "2026-05-01", before: "2026-06-01" },
        { after: day, before: Date.UTC(2026, 5, 1) },
      ],
      [{ after: "2026-05" }, { after: day }],
      [{ after: "2026-05-01T14:00" }, { after: day + 14 * 3_600_000 }],
      [{ before: " 2026-05-01 02:00+02:00 " }, { before: day }],
      [{ after: "", before: null }, {}],
    ] as const) {
      expect(await tool.execute({ query: "x", ...given })).toBe('No message matches "x".');
      expect(asked.pop()).toEqual(read);
    }
    for (const wrong of ["last May", "May 2026", "2026-02-31", "2026-13-01", "5", "2026-05-01T25:00", "x".repeat(65)]) {
      expect(await tool.execute({ query: "x", after: wrong })).toMatch(/^Error: after must be a (date|text)/);
    }
    expect(await tool.execute({ query: "x", after: "2026-06-01", before: "2026-05-01" })).toBe(
      "Error: after must be earlier than before, and nothing lies between 2026-06-01 and 2026-05-01.",
    );
    expect(await tool.execute({ query: "x", before: "tomorrow" })).toBe(
      'Error: before must be a date or a time in ISO form, such as 2026-05-01 or 2026-05-01T14:00Z, not "tomorrow".',
    );
    expect(asked).toEqual([]);
  });

  it("never shows a whole long message, nor more than it has room for", () => {
    const long = `${"a ".repeat(2_500_000)}needle ${"b ".repeat(1000)}`;
    const text = formatHits([hit(long)], "needle");
    expect(text.length).toBeLessThan(500);
    expect(text).toContain("needle");
    const many = formatHits(
      Array.from({ length: 100 }, () => hit(long, { id: "m".repeat(1000) })),
      "needle",
    );
    expect(estimateStringTokens(many)).toBeLessThanOrEqual(2_020);
    expect(many).toMatch(/\(\d+ more not shown; search more narrowly\.\)$/);
    const dense = formatHits(Array.from({ length: 20 }, () => hit("天地玄黄宇宙洪荒".repeat(100))));
    expect(estimateStringTokens(dense)).toBeLessThanOrEqual(2_020);
    expect(dense).toMatch(/more not shown/);
    expect(formatHits(Array.from({ length: 20 }, () => hit("a short message of a few words")))).not.toMatch(
      /not shown/,
    );
  });
});

describe("a snippet", () => {
  it("is the whole text when it is short", () => {
    expect(snippet("short", "x", 300)).toBe("short");
    expect(snippet("", "x", 300)).toBe("");
  });

  it.each([
    ["a word", "Needle", "NEEDLE"],
    ["a form of the word", "needles", "needling"],
    ["text without spaces", "京都", "東京都"],
    ["a phrase before its words", '"green apple"', "green apple"],
  ])("is around %s", (_, query, found) => {
    const text = `${"green x ".repeat(100)}${found}${" y".repeat(500)}`;
    const piece = snippet(text, query, 100);
    expect(piece).toContain(found);
    expect(piece.length).toBeLessThanOrEqual(102);
    expect(piece).toMatch(/^….*…$/s);
  });

  it("is the beginning when no word is there", () => {
    expect(snippet("abc ".repeat(100), "zzzz", 10)).toBe("abc abc…");
  });

  it("never cuts a character in two", () => {
    const text = `${"😀".repeat(200)}needle${"😀".repeat(200)}`;
    for (let length = 5; length < 60; length++) {
      expect(snippet(text, "needle", length).isWellFormed()).toBe(true);
      expect(beginning(text, length).isWellFormed()).toBe(true);
    }
  });
});
