import { build } from "esbuild";
import { expect, it } from "vitest";
import { ROOT } from "../../package/manifest.js";

// Miniflare refuses such a module where it looks for the imports of a script by itself.
it("stemma/postgres, bundled for workerd, holds no import of a name that is no literal", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${ROOT}packages/stemma/src/postgres.ts`],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    conditions: ["workerd"],
  });
  // A method may have the name.
  expect(outputFiles[0]?.text).not.toMatch(/(?<![.\w])import\s*\(/);
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
});
