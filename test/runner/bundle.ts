import { rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { FROM_SOURCES } from "../../scripts/entry-points.mjs";
import { studioDefine } from "../../scripts/studio-page.mjs";
import { ROOT } from "../package/manifest.js";

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
    splitting: true,
    target: "node20",
    ...FROM_SOURCES,
    alias: { ...FROM_SOURCES.alias, ...replaced },
    define: await studioDefine(),
    outExtension: { ".js": ".mjs" },
  });
  return outdir;
}
