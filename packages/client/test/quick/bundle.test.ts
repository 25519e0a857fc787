import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { FROM_SOURCES } from "../../../../scripts/entry-points.mjs";

it("takes at most 5 KiB of a page, and imports nothing", async () => {
  const { outputFiles, metafile } = await build({
    ...FROM_SOURCES,
    stdin: { contents: 'export { StemmaClient, StemmaError } from "stemma/client"', resolveDir: "." },
    platform: "browser",
    conditions: ["browser"],
    target: "es2022",
    minify: true,
    write: false,
    metafile: true,
  });
  const [{ contents } = { contents: new Uint8Array() }] = outputFiles;
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  expect(gzipSync(contents, { level: 9 }).length).toBeLessThanOrEqual(5_120);
});
