import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { entryPoints } from "./scripts/entry-points.mjs";
import { studioDefine } from "./scripts/studio-page.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const hasNative = loadsBetterSqlite();
const define = await studioDefine();
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * What `npm test` runs: tests that start no process of their own but one Postgres server. They are one project whose files
 * share processes, since each project, and each process, reads the sources anew.
 */
const QUICK = [
  // Units.
  "src/**/*.test.ts",
  "test/package/{entry-points,first-mistakes,import-order}.test.ts",
  // The runner and the command line, in process.
  "test/runner/{accepted,chat,documents-003,runner,states,store-session-storage}.test.ts",
  "test/repair/{malformed,rules}.test.ts",
  "test/cli/{check,commands,export,foreign-file,import,main,named-formats,screen}.test.ts",
  // The contract.
  "test/{ai-sdk,react}/*.test.ts",
  "test/store/{ai-sdk,arguments,content,cost,durable-object,misspelt-options,open,search-option,sqlite,unindexed}.test.ts",
  "test/postgres/conformance.test.ts",
  "test/providers/session-provider.test.ts",
  "test/upgrade/!(half-done).test.ts",
  // Adapters, formats and servers, in process.
  "test/adapters/*.test.ts",
  "test/claude/{agent-sdk,continued,memory-files,session-store}.test.ts",
  "test/cli/{backup,copy}.test.ts",
  "test/formats/{archives,find-and-watch,formats,pieces}.test.ts",
  "test/langgraph/{saver,store,validation}.test.ts",
  "test/mcp/{hostile,http,imported-projects,install,resources,scope,stdio,tools}.test.ts",
  "test/postgres/{documents,spread-search}.test.ts",
  "test/studio/{command,mounted,routes}.test.ts",
  "test/telemetry/{agents,instrument}.test.ts",
  "test/store/approval.test.ts",
];

/** Files of it that put something in place of a module. */
const ALONE = ["test/store/driver.test.ts"];

/** The rest, which `npm run test:all` runs as well. */
const SLOW = {
  docs: ["test/docs/*.test.ts", "test/documents/*.test.ts", "test/package/compiled.test.ts"],
  processes: [
    "src/model/{quoted-results,shapes}.test.ts",
    "src/runner/tools/attacks.test.ts",
    "src/storage/sqlite/search.test.ts",
    "test/**/*processes.test.ts",
    "test/examples/*.test.ts",
    "test/ai-sdk/random-chats.test.ts",
    "test/runner/{chat-screen,commit,examples,kill,long,memory}.test.ts",
    "test/cli/{process,real-data}.test.ts",
    "test/postgres/durability.test.ts",
    "test/providers/order.test.ts",
    "test/repair/{providers,repair}.test.ts",
    "test/store/{faults,flips,fuzz,large,random-queries}.test.ts",
  ],
};

// Whatever no other project names.
const engines = {
  include: ["test/**/*.test.ts"],
  exclude: [QUICK, ALONE, ...Object.values(SLOW)].flat(),
};

const projects = [
  { name: "quick", include: QUICK, exclude: [...SLOW.processes, ...ALONE], isolate: false },
  { name: "alone", include: ALONE, exclude: [], isolate: true },
  ...Object.entries(SLOW).map(([name, include]) => ({ name, include, exclude: [], isolate: true })),
  { name: "engines", ...engines, isolate: true },
];

/** The longest of the quick files, by far, and one whose size does not tell how long it takes. */
const LONG = ["test/postgres/conformance.test.ts", "test/store/sqlite.test.ts", "test/langgraph/validation.test.ts"];

/**
 * Isolated files begin first, since a process that others share ends when one of them is next. Then the longest, so that none of
 * them runs on alone at the end. Without an earlier run, vitest goes by the size of files.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project, moduleId }: TestSpecification) =>
      project.config.isolate ? 0 : LONG.some((path) => moduleId.endsWith(path)) ? 1 : 2;
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    projects: projects.map(({ name, include, exclude, isolate }) => ({
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
        isolate,
        // A machine of CI may do much else.
        testTimeout: process.env.CI ? 180_000 : 60_000,
        // Some bundle the programs that a file starts, or begin a server.
        hookTimeout: process.env.CI ? 180_000 : 60_000,
        // The summary of the run names each test that needed it.
        retry: process.env.CI ? 1 : 0,
        expect: { poll: { timeout: 20_000 } },
        pool: "forks" as const,
      },
    })),
    globalSetup: [file("test/postgres/run-folder.ts")],
    coverage: {
      provider: "v8",
      include: ["src/**/*.{ts,tsx}"],
      reporter: ["text-summary", "json-summary", "html"],
      // A little below what was measured: 92, 83, 90 and 94 per cent.
      thresholds: { statements: 90, branches: 82, functions: 88, lines: 91 },
    },
    sequence: { sequencer: LongestFirst },
    // Most of the time goes to waiting for disks and servers.
    maxWorkers: "100%",
    // Cases of one file that run beside each other.
    maxConcurrency: 2,
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
