import { readFileSync } from "node:fs";
import { defineConfig } from "tsdown";
import { entryPoints } from "./scripts/entry-points.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));

/** One file per entry point that package.json names. */
export default defineConfig({
  entry: Object.fromEntries(entryPoints(manifest).map(({ name, source }) => [name, source])),
  format: "esm",
  platform: "node",
  target: "es2022",
  dts: true,
  fixedExtension: false,
  clean: true,
  deps: {
    // Anything else that lands in the bundle fails the build.
    onlyBundle: ["commander"],
    neverBundle: [/^@ai-sdk\//],
  },
});
