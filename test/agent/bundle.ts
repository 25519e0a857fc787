import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../..");

/** Bundles programs of this folder for plain Node. Resolves to the folder that they stand in, which can see our packages. */
export async function bundle(name: string, entries: readonly string[]): Promise<string> {
  const outdir = join(ROOT, "node_modules/.cache/stemma", name);
  await build({
    entryPoints: entries.map((entry) => join(import.meta.dirname, entry)),
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    outExtension: { ".js": ".mjs" },
  });
  return outdir;
}
