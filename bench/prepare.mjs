// What must be there before anything is measured: the peers, in this folder's own node_modules, and the package as built
// from the sources as they are now.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Installs the peers where they are not. Nothing of them is built: every candidate gets the root's SQLite. */
export function installPeers() {
  if (existsSync(`${HERE}node_modules/.package-lock.json`)) return;
  console.log("Installing the peers into bench/node_modules …");
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: HERE,
    stdio: "inherit",
  });
}

/** Builds the entry points, and the parts that one row measures alone, which `stemma-internals.mjs` exports. */
export async function buildStemma() {
  const sql = ["engine/runner", "operations/search/search", "sqlite/dialect", "sqlite/client"].map(
    (name) => `storage/${name}`,
  );
  const model = ["codec", "query", "rank", "terms", "text"].map((name) => `model/${name}`);
  const entries = ["session", "sqlite", "utils", "postgres", "agent", ...model, ...sql];
  await build({
    entryPoints: entries.map((entry) => `${ROOT}src/${entry}.ts`),
    outbase: `${ROOT}src`,
    outdir: `${HERE}node_modules/.stemma`,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "es2022",
    packages: "external",
    logLevel: "error",
  });
}
