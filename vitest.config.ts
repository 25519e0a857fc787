import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
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
      ...(loadsBetterSqlite()
        ? []
        : [{ find: /^better-sqlite3$/, replacement: file("test/runtimes/better-sqlite3.ts") }]),
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: [file("test/postgres/run-folder.ts")],
    testTimeout: 60_000,
    pool: "forks",
    // Most of the time goes to waiting for disks and servers.
    maxWorkers: "100%",
    reporters: ["default", file("test/conformance-table.ts"), ...(process.env.CI ? ["json"] : [])],
    outputFile: { json: "node_modules/.cache/test-results.json" },
  },
});

// The native module fits the version of Node that installed it.
function loadsBetterSqlite(): boolean {
  try {
    const Database = createRequire(import.meta.url)("better-sqlite3");
    new Database(":memory:").close();
    return true;
  } catch (error) {
    if (process.env.CI) throw error;
    console.warn("better-sqlite3 does not load on this Node: sqlite() falls back on node:sqlite, and so do the tests.");
    return false;
  }
}
