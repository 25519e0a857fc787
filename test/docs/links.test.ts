import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";
import { pages } from "./snippets.js";

it("every link between pages leads somewhere", () => {
  const broken = pages().flatMap((page) =>
    [...readFileSync(ROOT + page, "utf8").matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(ROOT, dirname(page), target)))
      .map((target) => `${page} links to ${target}`),
  );
  expect(broken).toEqual([]);
});
