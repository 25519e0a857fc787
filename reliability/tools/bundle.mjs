import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { sourceFiles } from "../../scripts/entry-points.mjs";
import { studioDefine } from "../../scripts/studio-page.mjs";
import { inPlace } from "./in-place.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Bundles the rows and their programs with the sources as they are now. Resolves to their folder, which can see the project's packages. */
export async function bundlePrograms() {
  const outdir = `${ROOT}node_modules/.cache/stemma/reliability-${process.pid}`;
  const programs = readdirSync(`${ROOT}reliability/programs`).map((file) => `${ROOT}reliability/programs/${file}`);
  await build({
    entryPoints: [
      `${ROOT}reliability/tools/run.ts`,
      `${ROOT}reliability/tools/run-row.ts`,
      `${ROOT}test/runner/commit-child.ts`,
      ...programs,
    ],
    entryNames: "[name]",
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    alias: {
      ...sourceFiles(),
      vitest: `${ROOT}reliability/tools/expect.ts`,
    },
    define: await studioDefine(),
    outExtension: { ".js": ".mjs" },
    plugins: [inPlace],
    logLevel: "error",
  });
  return outdir;
}
