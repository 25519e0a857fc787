import { expect, it } from "vitest";
import { bestStretch, parseQuery, snippetOfStretch } from "../../../src/index.js";

const many = (word: string, count: number) => Array.from({ length: count }, (_, at) => `${word}${at}`).join(" ");
const stretchOf = (text: string, query: string, words: { word: string; score: number }[] = []) => {
  const explained = words.map((each) => ({ ...each, count: 1 }));
  const { start, end } = bestStretch(text, parseQuery(query), explained);
  return text.slice(start, end);
};

it("is the whole of a text of up to 140 tokens", () => {
  const text = many("w", 110);
  expect(text.length).toBeLessThan(4 * 140);
  expect(stretchOf(text, "w3")).toBe(text);
  expect(stretchOf("", "w3")).toBe("");
  expect(stretchOf(text, "?!")).toBe(text);
});

it("holds the words that count most, not the most words", () => {
  const text = `ferry ${many("a", 300)} lisbon harbour ${many("b", 300)} zebra ${many("c", 300)}`;
  const query = "ferry lisbon harbour zebra";
  expect(stretchOf(text, query)).toContain("lisbon harbour");
  const scores = { ferry: 1, lisbon: 1, harbour: 1, zebra: 3 };
  const words = Object.entries(scores).map(([word, score]) => ({ word, score }));
  const rare = stretchOf(text, query, words);
  expect(rare).toContain("zebra");
  expect(rare).not.toContain("lisbon");
});

it("is about 120 tokens long, from word to word, with what matches in its middle", () => {
  const text = `${many("left", 300)} zebra ${many("right", 300)}`;
  const stretch = stretchOf(text, "zebra");
  expect(Math.abs(stretch.length - 480)).toBeLessThan(60);
  expect(text).toContain(` ${stretch.trim()} `);
  expect(stretch.indexOf("zebra")).toBeGreaterThan(100);
  expect(stretch.length - stretch.indexOf("zebra")).toBeGreaterThan(100);
});

it("counts each character of Chinese as a token", () => {
  const text = `${"你".repeat(500)}天气很好${"我".repeat(500)}`;
  const stretch = stretchOf(text, "天气");
  expect(stretch).toContain("天气");
  expect(stretch.length).toBe(120);
  expect(stretchOf("天气".repeat(70), "天气")).toHaveLength(140);
});

it("is found in a text of a megabyte, and begins it where nothing matches", () => {
  const text = `${many("left", 150_000)} zebra ${many("right", 2_000)}`;
  const stretch = stretchOf(text, "zebra");
  expect(stretch).toContain("zebra");
  expect(text.startsWith(stretchOf(text, "unicorn"))).toBe(true);
  const query = parseQuery("zebra");
  expect(snippetOfStretch(text, bestStretch(text, query), query)).toMatch(/^….*«zebra».*…$/);
});
