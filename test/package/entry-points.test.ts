import { existsSync } from "node:fs";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { ENTRY_POINTS, ROOT } from "./manifest.js";

/** Entry points that are for Node: they open files. Every other one must run where there is no Node. */
const FOR_NODE = ["stemma/sqlite", "stemma/memory", "stemma/skills-node", "stemma/agent", "stemma/testing"];

describe("the built entry points", () => {
  it.each(ENTRY_POINTS)("$specifier has a source", ({ source }) => {
    expect(existsSync(ROOT + source)).toBe(true);
  });

  it.each(ENTRY_POINTS.filter(({ specifier }) => !FOR_NODE.includes(specifier)))(
    "$specifier reaches nothing outside the package but zod, and nothing of Node",
    async ({ source }) => {
      expect((await reached(source)).filter((name) => name !== "zod")).toEqual([]);
    },
  );

  it.each(ENTRY_POINTS.filter(({ specifier }) => FOR_NODE.includes(specifier)))(
    "$specifier imports no package that its user may not have",
    async ({ source }) => {
      expect((await reached(source)).filter((name) => name !== "zod" && !name.startsWith("node:"))).toEqual([]);
    },
  );
});

/** What a bundle of an entry point still imports. */
async function reached(source: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [ROOT + source],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: ["zod", "node:*"],
    logLevel: "silent",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return [...new Set(imports.map(({ path }) => path))];
}
