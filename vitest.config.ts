import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { entryPoints } from "./scripts/entry-points.mjs";
import { studioDefine } from "./scripts/studio-page.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const hasNative = loadsBetterSqlite();
const define = await studioDefine();
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What `npm test` runs: kinds of tests that start no process of their own but one Postgres server. */
const QUICK = {
  unit: ["src/**/*.test.ts", "test/package/{entry-points,import-order}.test.ts"],
  runner: [
    "test/runner/{accepted,documents-003,runner,states,store-storage}.test.ts",
    "test/repair/*.test.ts",
    "test/cli/{check,commands,export,import}.test.ts",
  ],
  contract: [
    "test/{ai-sdk,react}/*.test.ts",
    "test/store/{ai-sdk,arguments,content,cost,driver,faults,open,search-option,sqlite}.test.ts",
    "test/postgres/conformance.test.ts",
    "test/providers/{order,session-provider}.test.ts",
    "test/upgrade/!(half-done).test.ts",
  ],
};

/** The rest, which `npm run test:all` runs as well. */
const SLOW = {
  docs: ["test/docs/*.test.ts", "test/documents/*.test.ts", "test/package/compiled.test.ts"],
  processes: [
    "src/model/{quoted-results,shapes}.test.ts",
    "src/runner/tools/attacks.test.ts",
    "test/**/*processes.test.ts",
    "test/examples/*.test.ts",
    "test/ai-sdk/random-chats.test.ts",
    "test/runner/{chat,chat-screen,commit,examples,kill,long,memory}.test.ts",
    "test/cli/{process,real-data}.test.ts",
    "test/postgres/durability.test.ts",
    "test/store/{flips,fuzz,large,random-queries}.test.ts",
  ],
  // Suites of other packages, which take what vitest gives from the global object.
  validation: ["test/langgraph/validation.test.ts"],
};

// Whatever no other project names: every store but those of `contract`.
const engines = {
  include: ["test/**/*.test.ts"],
  exclude: [...Object.values(QUICK), ...Object.values(SLOW)].flat(),
};

const projects = [
  ...Object.entries(QUICK).map(([name, include]) => ({ name, include, exclude: SLOW.processes })),
  ...Object.entries(SLOW).map(([name, include]) => ({ name, include, exclude: [] })),
  { name: "engines", ...engines },
];

export default defineConfig({
  test: {
    projects: projects.map(({ name, include, exclude }) => ({
      // Vitest takes the names out of the object.
      define: { ...define },
      resolve: {
        // Tests and the code of the docs name the package as its users do, and run on its sources.
        alias: [
          ...entryPoints(manifest).flatMap(({ specifier, source }) =>
            specifier === null ? [] : [{ find: new RegExp(`^${specifier}$`), replacement: file(source) }],
          ),
          ...(hasNative ? [] : [{ find: /^better-sqlite3$/, replacement: file("test/runtimes/better-sqlite3.ts") }]),
        ],
      },
      test: {
        name,
        include,
        exclude,
        globals: name === "validation",
        testTimeout: 60_000,
        // The summary of the run names each test that needed it.
        retry: process.env.CI ? 1 : 0,
        expect: { poll: { timeout: 20_000 } },
        pool: "forks" as const,
      },
    })),
    globalSetup: [file("test/postgres/run-folder.ts")],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text-summary", "html"],
      // A little below what was measured: 91, 84, 89 and 93 per cent.
      thresholds: { statements: 90, branches: 82, functions: 88, lines: 91 },
    },
    // Most of the time goes to waiting for disks and servers.
    maxWorkers: "100%",
    reporters: ["default", file("test/conformance-table.ts"), ...(process.env.CI ? ["json"] : [])],
    outputFile: { json: process.env.TEST_RESULTS ?? "node_modules/.cache/test-results.json" },
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
