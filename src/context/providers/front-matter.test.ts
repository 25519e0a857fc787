import { describe, expect, it } from "vitest";
import { cpuTimeOf } from "../../../test/helpers/cpu-time.js";
import { patience } from "../../../test/helpers/patience.js";
import { fieldOf, readFrontMatter } from "./front-matter.js";

const read = (...lines: string[]) =>
  fieldOf(readFrontMatter(["---", ...lines, "other: z", "---", "body"].join("\n")), "key");

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
    [
      "plain with a colon and a space",
      ["key: Deploys: to production # c", "\tas: well"],
      "Deploys: to production as: well",
    ],
    ["a number", ["key: 007"], "007"],
    ["a date", ["key: 2026-01-02"], "2026-01-02"],
    ["a boolean", ["key: yes"], "yes"],
    ["null", ["key: ~"], undefined],
    ["empty", ['key: ""'], ""],
    ["a tag of another program", ["key: !!js/function 'x'"], undefined],
    ["an anchor and an alias", ["key: [&a x, *a]"], undefined],
    ["followed by more", ['key: "a" b'], undefined],
    ["a list", ["key:", "  - a"], undefined],
    ["a list at the margin", ["key:", "- a"], undefined],
    ["a mapping", ["key:", "  a: b"], undefined],
    ["a flow list", ["key: [a, b]"], undefined],
    ["nothing", ["key:"], undefined],
    ["an open quote", ['key: "a'], undefined],
  ])("reads a text that is %s", (_, lines, value) => {
    expect(read(...lines)).toBe(value);
    expect(fieldOf(readFrontMatter(["---", ...lines, "other: z", "---"].join("\n")), "other")).toBe("z");
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
