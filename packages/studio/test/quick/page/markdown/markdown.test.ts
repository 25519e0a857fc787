import { expect, it } from "vitest";
import { cpuTimeOf } from "../../../../../../test/helpers/cpu-time.js";
import { patience } from "../../../../../../test/helpers/patience.js";
import { parseInline, parseMarkdown } from "../../../../src/page/markdown/parse-markdown.js";

const kinds = (text: string) => parseMarkdown(text).map(({ kind }) => kind);
const text = (value: string) => ({ kind: "text", text: value });

it("tells the blocks of a text apart", () => {
  const source = "# Title\n\nA paragraph\nof two lines.\n\n```ts\nconst a = 1;\n```\n\n> quoted\n\n---\n\n- one\n- two";
  expect(kinds(source)).toEqual(["heading", "paragraph", "code", "quote", "rule", "list"]);
});

it("keeps code as it is, also where its fence is never closed", () => {
  expect(parseMarkdown("```js\n<b>*x*</b>\n\n# no heading")).toEqual([
    { kind: "code", language: "js", text: "<b>*x*</b>\n\n# no heading" },
  ]);
});

it("nests lists, and begins a numbered one where it begins", () => {
  const [list] = parseMarkdown("3. three\n   - inner\n4. four\n\n   more of four");
  expect(list).toMatchObject({ kind: "list", start: 3 });
  const items = list?.kind === "list" ? list.items : [];
  expect(items.map((item) => item.map(({ kind }) => kind))).toEqual([
    ["paragraph", "list"],
    ["paragraph", "paragraph"],
  ]);
});

it("reads a table with its cells", () => {
  expect(parseMarkdown("| a | b |\n|---|:-:|\n| 1 | x \\| y |")).toEqual([
    { kind: "table", head: [[text("a")], [text("b")]], rows: [[[text("1")], [text("x | y")]]] },
  ]);
});

it("reads emphasis, code and escapes, and leaves names with underscores alone", () => {
  expect(parseInline("**b** *i* `c*c` ~~d~~ \\*no\\* snake_case_name 2 * 3 * 4")).toEqual([
    { kind: "strong", children: [text("b")] },
    text(" "),
    { kind: "emphasis", children: [text("i")] },
    text(" "),
    { kind: "code", text: "c*c" },
    text(" "),
    { kind: "deleted", children: [text("d")] },
    text(" "),
    text("*"),
    text("no"),
    text("*"),
    text(" snake_case_name 2 * 3 * 4"),
  ]);
});

it("links to http and https only", () => {
  const link = (address: string, label: string, isImage = false) => ({
    kind: "link",
    address,
    isImage,
    children: [text(label)],
  });
  expect(parseInline("[a](https://x.test/y)")).toEqual([link("https://x.test/y", "a")]);
  expect(parseInline("see https://x.test/y.")).toEqual([
    text("see "),
    link("https://x.test/y", "https://x.test/y"),
    text("."),
  ]);
  expect(parseInline("![p](https://x.test/p.png)")).toEqual([link("https://x.test/p.png", "p", true)]);
  for (const bad of [
    "javascript:alert`1`",
    "JaVaScRiPt:alert1",
    "data:text/html,x",
    "//x.test",
    "vbscript:x",
    "file:///x",
  ]) {
    expect(JSON.stringify(parseInline(`[a](${bad})`)), bad).not.toContain('"link"');
  }
});

it("takes HTML for text", () => {
  expect(parseInline("<img src=x onerror=alert(1)>")).toEqual([text("<img src=x onerror=alert(1)>")]);
});

it.each([
  ["stars", "**a ".repeat(5_000)],
  ["brackets", "[".repeat(20_000)],
  ["ticks", "`a``".repeat(5_000)],
  ["quotes", "> ".repeat(10_000)],
  ["bars", `|${" - |".repeat(5_000)}\n|${"-|".repeat(5_000)}x`],
  ["lists", Array.from({ length: 300 }, (_, depth) => `${" ".repeat(depth * 2)}- x`).join("\n")],
  ["addresses", "http://".repeat(3_000)],
])("reads 20,000 characters of %s in less than a second", (_name, source) => {
  expect(cpuTimeOf(() => parseMarkdown(source))).toBeLessThan(patience(1000));
});
