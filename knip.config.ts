import { readFileSync } from "node:fs";
import type { KnipConfig } from "knip";
import { entryPoints } from "./scripts/entry-points.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));

export default {
  entry: [
    ...entryPoints(manifest).map(({ source }) => source),
    "scripts/*.mjs",
    "bench/*.mjs",
    "test/**/*.mjs",
    // Run by what the docs' code is rewritten to, and bundled for workerd.
    "test/docs/scripted-model.ts",
    "test/workers/**/*.ts",
  ],
  project: ["src/**/*.ts", "test/**/*.ts", "scripts/**", "bench/**/*.mjs"],
  // A fixture is written by it, where it is installed for that.
  ignoreDependencies: ["agents"],
  // A type is often exported for the signature that names it.
  ignoreExportsUsedInFile: true,
} satisfies KnipConfig;
