import { rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { studioDefine } from "../../scripts/studio-page.mjs";
import { ENTRY_POINTS, ROOT } from "../package/manifest.js";

/**
 * Bundles programs for plain Node, with our sources in place of our package. Resolves to the folder that they stand in, as
 * `<name>.mjs`, until the tests end; it can see the packages of compat/ and of the project. Those in `replaced` stand for others.
 */
export async function bundle(
  name: string,
  programs: readonly string[],
  replaced: Readonly<Record<string, string>> = {},
): Promise<string> {
  // Another run of the tests may be bundling the same.
  const outdir = join(ROOT, "test/.cache", `${name}-${process.pid}`);
  process.once("exit", () => rmSync(outdir, { recursive: true, force: true }));
  await build({
    entryPoints: programs.map((program) => join(ROOT, program)),
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    alias: {
      ...Object.fromEntries(ENTRY_POINTS.map(({ specifier, source }) => [specifier, join(ROOT, source)])),
      ...replaced,
    },
    packages: "external",
    define: await studioDefine(),
    outExtension: { ".js": ".mjs" },
  });
  return outdir;
}
