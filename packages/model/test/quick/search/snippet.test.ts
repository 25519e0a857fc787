import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parseQuery } from "../../../src/search/query.js";
import { beginning, excerpt, markedSnippet } from "../../../src/search/snippet.js";

const marked = (text: string, query: string) => markedSnippet(text, parseQuery(query));
const piece = (text: string, query: string, length: number) => excerpt(text, parseQuery(query), length);

describe("a snippet", () => {
  it.each([
    ["words", "We deploy on Fridays", "friday", "We deploy on «Fridays»"],
    ["their forms", "connections, connected, a connector", "connecting", "«connections», «connected», a connector"],
    ["words without their accents", "Un CAFÉ crème", "cafe", "Un «CAFÉ» crème"],
    [
      "pieces of unspaced text, as long as they can be",
      "我们星期五部署新版本",
      "星期五 新版",
      "我们«星期五»部署«新版»本",
    ],
    ["what stands beside unspaced text", "Kubernetesクラスタ", "kubernetes", "«Kubernetes»クラスタ"],
    ["nothing where nothing matches", "We deploy on Fridays", "zebra", "We deploy on Fridays"],
    ["nothing of an empty text", "", "zebra", ""],
  ])("marks %s", (_, text, query, expected) => {
    expect(marked(text, query)).toBe(expected);
  });

  it("marks all forms of each word of Snowball's list", () => {
    const list = new URL("../../../../../test/fixtures/snowball-english.txt.gz", import.meta.url);
    const forms = new Map<string, string[]>();
    for (const line of gunzipSync(readFileSync(list)).toString().trimEnd().split("\n")) {
      const [word = "", stem = ""] = line.split("\t");
      if (/^[a-z]+$/.test(word)) forms.set(stem, [...(forms.get(stem) ?? []), word]);
    }
    expect(forms.size).toBeGreaterThan(20_000);
    const unmarked = [...forms.values()].filter((words) => {
      const found = excerpt(words.join(" "), parseQuery(words[0] as string), 10_000, ["«", "»"]);
      return found !== words.map((word) => `«${word}»`).join(" ");
    });
    expect(unmarked).toEqual([]);
  });

  it("is the piece in which the most different words match", () => {
    const text = `apple ${"x ".repeat(300)}apple apple apple ${"y ".repeat(300)}apple and pear ${"z ".repeat(300)}`;
    expect(marked(text, "pears and apples")).toMatch(/^….*«apple» and «pear».*…$/);
  });

  it("has at most 240 characters beside marks and ellipses, and whole words", () => {
    const text = `${"lorem ipsum dolor ".repeat(50)}needle ${"sit amet ".repeat(50)}`;
    const shown = marked(text, "needle lorem");
    expect(shown.replaceAll(/[«»…]/g, "").length).toBeLessThanOrEqual(240);
    expect(shown).toContain("«needle»");
    expect(text.split(" ")).toEqual(expect.arrayContaining(shown.replaceAll(/[«»…]/g, "").split(" ")));
  });

  it("finds its place in a very long text", () => {
    const text = `${"a ".repeat(2_500_000)}needling ${"b ".repeat(1000)}`;
    expect(marked(text, "needle")).toContain("«needling»");
    expect(marked(text, "nowhere")).toMatch(/^a a .*…$/);
  });

  it("shows the beginning of a match that is longer than it", () => {
    const run = "天地玄黄宇宙洪荒".repeat(100);
    expect(marked(`前${run}`, run)).toMatch(/^.?«[^»]{200,240}»…$/);
  });

  it("never cuts a character in two", () => {
    const text = `${"😀".repeat(200)}needle${"𠮷".repeat(200)}`;
    for (let length = 5; length < 60; length += 1) {
      for (const query of ["needle", "𠮷𠮷", "none"]) expect(piece(text, query, length).isWellFormed()).toBe(true);
      expect(beginning(text, length).isWellFormed()).toBe(true);
    }
  });

  it("costs little however many matches there are", () => {
    const cost = (matches: number) => {
      const text = "needle ".repeat(matches);
      const times = Array.from({ length: 5 }, () => {
        const start = performance.now();
        expect(marked(text, "needle")).toMatch(/^«needle»/);
        return performance.now() - start;
      });
      return Math.min(...times);
    };
    // The least of several, side by side: 20 times the text costs about 20 times as much, where the square were 400.
    expect(cost(40_000) / cost(2_000)).toBeLessThan(100);
  });
});
