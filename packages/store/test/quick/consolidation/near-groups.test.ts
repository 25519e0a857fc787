import { describe, expect, it } from "vitest";
import { patience } from "../../../../../test/helpers/patience.js";
import { plainText } from "../../../src/consolidation/mergeable.js";
import { nearGroups } from "../../../src/consolidation/near-groups.js";
import type { ListedEntry } from "../../../src/contract/store.js";
import { memory } from "../../../src/memory.js";

const scope = { sessionId: "", label: "facts", scope: "user" } as const;
const store = memory().forUser("ada");

const entry = (key: string, content: string, subject?: string): ListedEntry => ({
  key,
  content,
  validFrom: null,
  validTo: null,
  expiresAt: null,
  supersedes: [],
  supersededBy: [],
  tags: subject === undefined ? [] : [`subject:${subject}`],
  origin: null,
  ends: [],
  invalidatedAt: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
});

const keysIn = async (entries: readonly ListedEntry[]) =>
  (await nearGroups(store, scope, entries)).map((group) => group.map(({ key }) => key).join(""));

describe("groups of near entries", () => {
  it("hold what shares telling words, the most alike first, in any script", async () => {
    const entries = [
      entry("a", "Ada lives in Berlin."),
      entry("b", "Ada drinks tea."),
      entry("c", "Is a resident of Berlin."),
      entry("d", "东京に住んでいます"),
      entry("e", "东京に住んでいる"),
      entry("f", "and of the"),
      entry("g", "of the and"),
      entry("h", "ada  DRINKS tea!"),
    ];
    const groups = await keysIn(entries);
    expect(groups.toSorted()).toEqual(["ac", "bh", "de", "fg"]);
    expect(groups.slice(0, 2).toSorted()).toEqual(["bh", "fg"]);
    expect(await keysIn([])).toEqual([]);
    expect(await keysIn([entry("a", ""), entry("b", "…")])).toEqual([]);
  });

  it("hold what is of one rare subject, and never two subjects", async () => {
    const entries = [
      entry("a", "Moved to Lisbon.", "home"),
      entry("b", "Her flat is new.", "home"),
      entry("c", "Moved to Lisbon.", "work"),
      ...Array.from({ length: 40 }, (_, at) => entry(`x${at}`, `nothing${at} alike${at}`)),
    ];
    expect(await keysIn(entries)).toEqual(["ab"]);
  });

  it("have twelve entries and 20,000 tokens at most", async () => {
    const same = Array.from({ length: 100 }, (_, at) => entry(String(at), "Likes tea."));
    const groups = await nearGroups(store, scope, same);
    expect(Math.max(...groups.map(({ length }) => length))).toBe(12);
    expect(groups.flat().length).toBeGreaterThan(90);
    expect(new Set(groups.flat()).size).toBe(groups.flat().length);
    const long = ["a", "b", "c"].map((key) => entry(key, `${"tea ".repeat(7_000)}${key}`));
    expect((await keysIn(long)).map(({ length }) => length)).toEqual([2]);
  });

  it("are found among 10,000 entries of one subject, of few words or of one text", {
    timeout: patience(120_000),
  }, async () => {
    const words = "tea coffee piano guitar Berlin Lisbon Porto hiking skiing chess".split(" ");
    const makes = [
      (at: number) =>
        `Likes ${words[at % 10]}, ${words[Math.floor(at / 10) % 10]} and ${words[Math.floor(at / 100) % 10]}.`,
      () => "Likes tea.",
    ];
    for (const make of makes) {
      const entries = Array.from({ length: 10_000 }, (_, at) => entry(String(at), make(at), "home"));
      const started = performance.now();
      const groups = await nearGroups(store, scope, entries);
      // Each with each took minutes.
      expect(performance.now() - started).toBeLessThan(patience(20_000));
      expect(groups.length).toBeGreaterThan(500);
    }
  });
});

describe("a text as it is compared", () => {
  it("leaves out spaces, a full stop at the end and the case of the first letter, and nothing that tells", () => {
    expect(plainText("  Likes\n tea. ")).toBe(plainText("likes tea"));
    for (const [one, other] of [
      ["The word is Tiger!", "The word is tiger,"],
      ["Wait...", "Wait"],
      ["C", "C#"],
      ["5", "-5"],
      ["102", "10²"],
      ["1.5", "15"],
      ["a", "à"],
    ] as const) {
      expect(plainText(one)).not.toBe(plainText(other));
    }
  });
});
