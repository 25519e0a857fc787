import { describe, expect, it } from "vitest";
import { cpuTimeOf } from "../../../../../../test/helpers/cpu-time.js";
import { patience } from "../../../../../../test/helpers/patience.js";
import { fieldOf, readFrontMatter } from "../../../../src/context/providers/front-matter.js";

const entry = (...lines: string[]) =>
  readFrontMatter(["---", ...lines, "other: z", "---", "body"].join("\n")).entries[0];

describe("front matter", () => {
  it.each([
    ["plain", ["key: a text"], "a text"],
    ["plain with a colon", ["key: see http://a.b/c"], "see http://a.b/c"],
    ["plain with a comment", ["key: a text # not this"], "a text"],
    ["plain with a hash inside", ["key: issue#7"], "issue#7"],
    ["plain over lines", ["key: one", "  two", "", "  three"], "one two\nthree"],
    ["plain below its key", ["key:", "  one", "  two"], "one two"],
    ["single-quoted", ["key: 'it''s: # so'"], "it's: # so"],
    ["double-quoted", ['key: "tab\\t \\"x\\" \\u00e9 \\x41 \\U0001F600" # c'], 'tab\t "x" é A 😀'],
    ["double-quoted over lines", ['key: "one', '  two"'], "one two"],
    ["folded", ["key: >", "  one", "  two", "", "  three"], "one two\nthree\n"],
    ["folded and stripped", ["key: >-", "  one", "    two", "  three"], "one\n  two\nthree"],
    ["literal", ["key: |", "  one", "   two", "", "  three"], "one\n two\n\nthree\n"],
    ["literal and kept", ["key: |+", "  one", ""], "one\n\n"],
    ["literal with a given indent", ["key: |1-", "   one"], "  one"],
    ["a number", ["key: 007"], "007"],
    ["a date", ["key: 2026-01-02"], "2026-01-02"],
    ["a boolean", ["key: yes"], "yes"],
    ["null", ["key: ~"], null],
    ["empty", ['key: ""'], ""],
    ["nothing", ["key:"], null],
    ["behind a spaced colon", ["key : a text"], "a text"],
  ])("reads a text that is %s", (_, lines, value) => {
    expect(entry(...lines)).toMatchObject({ value, isAsWritten: false });
    expect(fieldOf(readFrontMatter(["---", ...lines, "other: z", "---"].join("\n")), "other")).toBe("z");
  });

  it("has its names in any case", () => {
    const read = readFrontMatter("\uFEFF---\r\nName : a\r\nDescription: About a\r\n---\r\nbody");
    expect([fieldOf(read, "name"), fieldOf(read, "description"), read.body]).toEqual(["a", "About a", "body"]);
  });

  it.each([
    ["holds a colon and a space", ["Deploys: to production # c", "\tas: well"], "Deploys: to production as: well"],
    ["holds two of them", ["foo: bar: baz"], "foo: bar: baz"],
    ["begins with a bracket", ["[Beta] Deploys to production"], "[Beta] Deploys to production"],
    ["is a list in brackets", ["[a, b]"], "[a, b]"],
    ["begins with a quote", ['"Review" a plan #1'], '"Review" a plan #1'],
    ["begins with a single quote", ["'single' quoted start"], "'single' quoted start"],
    ["has an open quote", ['"a'], '"a'],
    ["begins with a star", ["*Important* deploys"], "*Important* deploys"],
    ["begins with an ampersand", ["&c and more: yes"], "&c and more: yes"],
    ["begins with a brace", ["{{name}} greets"], "{{name}} greets"],
    ["begins with a backtick", ["`code` helper: runs"], "`code` helper: runs"],
    ["begins with an at sign", ["@mention helper"], "@mention helper"],
    ["begins with a percent sign", ["%d of all"], "%d of all"],
    ["begins with an exclamation mark", ["!!js/function 'x'"], "!!js/function 'x'"],
    ["begins as a block does", ["> Reviews a plan", "  and more"], "> Reviews a plan and more"],
    ["begins with a dash", ["- starts with a dash: yes"], "- starts with a dash: yes"],
    ["has an anchor and an alias", ["[&a x, *a]"], "[&a x, *a]"],
    [
      "stands below with a colon",
      ["", "  Use when: the user asks", "  for a plan"],
      "Use when: the user asks for a plan",
    ],
    [
      "stands below with quotes",
      ["", '  Reviews. "review it". With: all,', "  then"],
      'Reviews. "review it". With: all, then',
    ],
    ["stands below as a list", ["", "  - a", "  - b"], "- a - b"],
    ["stands below at the margin as a list", ["", "- a"], "- a"],
    ["goes on at the margin", ["Reviews a plan", "before it is built"], "Reviews a plan before it is built"],
    ["stands below at the margin", ["", "Reviews a plan before it is built"], "Reviews a plan before it is built"],
    ["is indented by tabs", ["", "\tReviews a plan"], "Reviews a plan"],
  ])("gives as it is written a text that %s", (_, [head = "", ...below], value) => {
    expect(entry(`key: ${head}`, ...below)).toMatchObject({ value, isAsWritten: true });
    expect(fieldOf(readFrontMatter(["---", `key: ${head}`, ...below, "other: z", "---"].join("\n")), "other")).toBe(
      "z",
    );
  });

  it("takes a name or a description without a space behind its colon", () => {
    expect(readFrontMatter("---\nname:deploy\ndescription:Deploys: all\nhttps://a.b\n---\n").entries).toMatchObject([
      { name: "name", value: "deploy", isAsWritten: true },
      { name: "description", value: "Deploys: all https://a.b", isAsWritten: true },
    ]);
  });

  it("is read by its own fields, whatever they are called", () => {
    const file = readFrontMatter("---\n__proto__: a\nconstructor: b\n---\n");
    expect(fieldOf(file, "__proto__")).toBe("a");
    expect(fieldOf(file, "constructor")).toBe("b");
    expect(fieldOf(file, "toString")).toBeUndefined();
  });

  const MANY = 200_000;
  it.each([
    ["lists in lists", `[${"[".repeat(MANY)}`],
    ["mappings in mappings", "{a: ".repeat(MANY)],
    ["keys of keys", `\n  ${"? ".repeat(MANY)}`],
    [
      "lists that name each other",
      `\n  - &a0 [x]\n${Array.from({ length: 30 }, (_, n) => `  - &a${n + 1} [*a${n}, *a${n}]`).join("\n")}`,
    ],
    ["an endless quote", `"${"\\n ".repeat(MANY)}`],
    ["nothing but colons", ": ".repeat(MANY)],
    ["what no text holds", "a: \0"],
  ])("goes on soon after %s", (_, value) => {
    const time = cpuTimeOf(() => {
      const file = readFrontMatter(`---\nkey: ${value}\nother: z\n---\nbody`);
      expect(fieldOf(file, "other")).toBe("z");
      expect(file.body).toBe("body");
    });
    expect(time).toBeLessThan(patience(2000));
  });

  it("is set off from the body, whatever the line breaks", () => {
    expect(readFrontMatter("\uFEFF---\r\nname: a\r\n--- \r\n\r\nbody\r\n---\r\nmore")).toMatchObject({
      entries: [{ name: "name", value: "a" }],
      body: "body\n---\nmore",
    });
  });

  it("is not there unless it opens the file and closes", () => {
    for (const text of ["", "text", "\n---\nname: a\n---\n", "---\nname: a\n", "----\nname: a\n----"]) {
      expect(readFrontMatter(text)).toEqual({ entries: [], body: text });
    }
  });
});
