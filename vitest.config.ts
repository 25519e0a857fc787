import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { entryPoints } from "./scripts/entry-points.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // Tests and the code of the docs name the package as its users do, and run on its sources.
    alias: [
      ...entryPoints(manifest).flatMap(({ specifier, source }) =>
        specifier === null ? [] : [{ find: new RegExp(`^${specifier}$`), replacement: file(source) }],
      ),
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 30_000,
    pool: "forks",
    reporters: process.env.CI ? ["default", "json"] : ["default"],
    outputFile: { json: "node_modules/.cache/test-results.json" },
  },
});
