import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../package/manifest.js";

const FOLDER = join(ROOT, ".github/workflows");

it("workflows run scripts that there are", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const run = readdirSync(FOLDER).flatMap((file) =>
    Array.from(readFileSync(join(FOLDER, file), "utf8").matchAll(/npm run (\S+)/g), ([, name = ""]) => ({
      file,
      name,
    })),
  );
  expect(run).not.toEqual([]);
  expect(run.filter(({ name }) => !(name in scripts))).toEqual([]);
});
