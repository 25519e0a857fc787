import { readFileSync } from "node:fs";
import { defineConfig } from "tsdown";

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  bin: Record<string, string>;
  exports: Record<string, string | { default: string }>;
};
const published = [
  ...Object.values(manifest.bin),
  ...Object.values(manifest.exports).flatMap((target) => (typeof target === "string" ? [] : target.default)),
];

/** One file per entry point of package.json: `./dist/x.js` is built from `src/x.ts`. A missing source fails the build. */
export default defineConfig({
  entry: Object.fromEntries(
    published.map((file) => {
      const name = file.replace(/^\.\/dist\/|\.js$/g, "");
      return [name, `src/${name}.ts`];
    }),
  ),
  format: "esm",
  platform: "neutral",
  target: "es2022",
  dts: true,
  fixedExtension: false,
  clean: true,
});
