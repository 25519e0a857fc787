import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";

const rows = readFileSync(`${ROOT}docs/background/promises.md`, "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:---|Promise \|)/.test(line));

it("docs/background/promises.md names for each promise a test that exists", () => {
  const missing = rows.filter((row) => {
    const [, title = "", file = ""] = /\| \[(.+)\]\((?:\.\.\/)+([^)]+)\) \|$/.exec(row) ?? [];
    if (title === "" || !existsSync(join(ROOT, file))) return true;
    const text = readFileSync(join(ROOT, file), "utf8");
    return !['"', "`"].some((quote) => text.includes(`${quote}${title}${quote}`));
  });
  expect(missing).toEqual([]);
  expect(rows.length).toBeGreaterThan(50);
});
