// What must be there before anything is measured: the peers, in this folder's own node_modules, and the package as built
// from the sources as they are now.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { FROM_SOURCES } from "../scripts/entry-points.mjs";

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
  const internals = readFileSync(`${HERE}stemma-internals.mjs`, "utf8");
  const parts = [...internals.matchAll(/\.stemma\/(\w+)\/(.+)\.js"/g)].map(([, wing, file]) => `${wing}/src/${file}`);
  const entries = ["session", "sqlite", "utils", "postgres", "agent"].map((name) => [name, `stemma/src/${name}`]);
  await build({
    entryPoints: Object.fromEntries(
      [...entries, ...parts.map((name) => [name.replace("/src", ""), name])].map(([out, name]) => [
        out,
        `${ROOT}packages/${name}.ts`,
      ]),
    ),
    outdir: `${HERE}node_modules/.stemma`,
    splitting: true,
    target: "es2022",
    ...FROM_SOURCES,
    logLevel: "error",
  });
}
