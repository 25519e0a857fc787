import { copyFileSync, readFileSync } from "node:fs";
import { defineConfig } from "tsdown";
import { entryPoints } from "./scripts/entry-points.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));

/** Libraries that are part of the package. */
const BUNDLED = ["commander", "js-yaml", "picomatch"];

/** The entry points that package.json names, and what they reach. */
export default defineConfig({
  entry: Object.fromEntries(entryPoints(manifest).map(({ name, source }) => [name, source])),
  format: "esm",
  platform: "node",
  target: "es2022",
  dts: true,
  fixedExtension: false,
  clean: true,
  // A file for each source file, so that "go to definition" leads to one that is named for what it holds.
  unbundle: true,
  outputOptions: {
    // npm packs no folder called node_modules.
    entryFileNames: ({ name }) => `${name.replace(/^node_modules\//, "vendor/")}.js`,
  },
  hooks: {
    "build:done": () => {
      for (const name of BUNDLED) copyFileSync(`node_modules/${name}/LICENSE`, `dist/vendor/${name}/LICENSE`);
    },
  },
  deps: {
    // Anything else that lands in the bundle fails the build.
    onlyBundle: BUNDLED,
    neverBundle: [/^@ai-sdk\//],
  },
});
