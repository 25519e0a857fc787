import { describe, expect, it } from "vitest";
import { globPattern } from "../../../src/tools/glob-and-grep.js";

function fits(pattern: string, paths: readonly string[]): readonly string[] {
  const { expression, exactly } = globPattern(pattern);
  return paths.filter((path) => path === exactly || expression.test(path));
}

describe("a file pattern", () => {
  it.each([
    ["*.ts", ["a.ts", "src/a.ts", ".a.ts"], ["a.tsx", "a.ts/b"]],
    ["src/*.ts", ["src/a.ts"], ["a.ts", "src/deep/a.ts"]],
    ["./src/*.ts", ["src/a.ts"], ["a.ts"]],
    ["/src/**", ["src/a", "src/.b/c"], ["a"]],
    ["a/**/b", ["a/b", "a/x/y/b"], ["axb", "a/xb"]],
    ["?.ts", ["a.ts"], ["ab.ts", "x/.ts"]],
    ["[a-c].ts", ["b.ts"], ["d.ts"]],
    ["x[!a]y", ["xby"], ["xay", "x/y"]],
    ["{src,test}/*.{ts,md}", ["src/a.ts", "test/b.md"], ["src/a.js", "x/src/a.ts"]],
    ["{**/*.ts,**/*.md}", ["a.ts", "x/y/b.md"], ["a.js"]],
    ["{a,{b,c}}.ts", ["a.ts", "c.ts"], ["d.ts"]],
  ])("%s", (pattern, matched, others) => {
    expect(fits(pattern, [...matched, ...others])).toEqual(matched);
  });

  it.each(["!a.ts", "app/(shop)/p.tsx", "(a|b)+", "+(a)", "@(a)", "a+b", "$a", "^a.b", '"a"', "*.(md", "[a"])(
    "takes %s for the name that it is",
    (name) => {
      expect(fits(name, [name.replace("*", "x"), "a", "aa", "b", "ab", "b.ts", "x.md"])).toEqual([
        name.replace("*", "x"),
      ]);
    },
  );
});
