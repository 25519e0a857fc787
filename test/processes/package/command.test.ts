import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { BUILT_COMMAND, ROOT } from "../../package/manifest.js";

/** What npm installs with the package. */
const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, "packages/stemma/package.json"), "utf8"));

/** The packages that a built file imports, with all files that it reaches, before any of it runs. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file) || !existsSync(file)) return packages;
  seen.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, fixed = "", later = ""] of text.matchAll(/^(?:import|export) .*?"([^"]+)";$|\bimport\("([^"]+)"\)/gm)) {
    const name = fixed || later;
    if (name.startsWith(".")) for (const each of packagesOf(resolve(dirname(file), name), seen)) packages.add(each);
    else if (fixed !== "" && !name.startsWith("node:") && name !== "events") packages.add(name);
  }
  return packages;
}

it.skipIf(!existsSync(BUILT_COMMAND))("the built command needs no package but those that npm installs with it", () => {
  const missing = [...packagesOf(BUILT_COMMAND)].filter((name) => !(name in optionalDependencies));
  expect(missing).toEqual([]);
});
