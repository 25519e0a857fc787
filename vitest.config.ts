import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification, type Vite } from "vitest/node";
import { isInstalled } from "./compat/install.mjs";
import { entryPoints } from "./scripts/entry-points.mjs";
import { studioDefine } from "./scripts/studio-page.mjs";
import { measureSlowness, patience } from "./test/helpers/patience.js";

const hasNative = loadsBetterSqlite();
const define = await studioDefine();
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

measureSlowness();

/**
 * A test runs where its folder says: `test/<project>/`, or `quick` and `slow` beside the sources of a wing. Files of some
 * projects share processes, since each process reads the sources anew.
 */
const projects = [
  { name: "quick", include: ["packages/*/test/quick/**/*.test.ts", "test/quick/**/*.test.ts"], isolate: false },
  // Of the quick ones, those that put something in place of a module.
  { name: "alone", include: ["test/alone/**/*.test.ts"], isolate: true },
  { name: "frameworks", include: ["test/frameworks/**/*.test.ts"], isolate: false },
  { name: "platforms", include: ["test/platforms/**/*.test.ts"], isolate: false },
  { name: "docs", include: ["test/docs/**/*.test.ts"], isolate: false },
  {
    name: "processes",
    include: ["packages/*/test/slow/**/*.test.ts", "test/processes/**/*.test.ts"],
    isolate: false,
  },
  { name: "engines", include: ["test/engines/**/*.test.ts"], isolate: false },
  // Of the slower ones, those that time themselves, or put something in place of a module.
  { name: "isolated", include: ["test/isolated/**/*.test.ts"], isolate: true },
];

/** The projects that need the packages of compat/, which each of them installs where they are not. */
const WITH_COMPAT = ["frameworks", "platforms", "docs"];

/** Where those packages cannot be installed, this takes the place of the files that need them. */
const skipped: Vite.Plugin = {
  name: "skipped",
  enforce: "pre",
  load(id) {
    if (isInstalled() || !/\.test\.ts$/.test(id)) return null;
    return `import { it } from "vitest"; it.skip("needs the packages of compat/ (skipped: they are not installed)", () => {});`;
  },
};

/** The longest of the files, by far: their size does not tell how long they take. */
const LONG = [
  ...["quick/postgres/conformance", "quick/store/sqlite", "frameworks/langgraph/validation"],
  ...["ai-sdk/clocks", "ai-sdk/random-chats", "examples/web-chat", "website/site", "platforms/postgres/pglite"],
  ...["workers/suites", "workers/remote", "server/remote", "server/crashes", "store/bad-input", "texts/linear"],
].map((name) => `/${name}.test.ts`);

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
    projects: projects.map(({ name, include, isolate }) => ({
      // Vitest takes the names out of the object.
      define: { ...define },
      plugins: WITH_COMPAT.includes(name) ? [skipped] : [],
      resolve: {
        // Tests and the code of the docs name the package as its users do, and run on its sources.
        alias: [
          ...entryPoints().flatMap(({ specifier, source }) =>
            specifier === null ? [] : [{ find: new RegExp(`^${specifier}$`), replacement: file(source) }],
          ),
          // The sources import them where they are installed, which is beside the tests.
          ...["@anthropic-ai/claude-agent-sdk", "redis"].map((name) => ({
            find: new RegExp(`^${name}$`),
            replacement: file(`compat/node_modules/${name}`),
          })),
          ...(hasNative ? [] : [{ find: /^better-sqlite3$/, replacement: file("test/runtimes/better-sqlite3.ts") }]),
        ],
      },
      test: {
        name,
        include,
        exclude: ["**/node_modules/**"],
        isolate,
        globalSetup: WITH_COMPAT.includes(name) ? [file("compat/setup.mjs")] : [],
        // They end what hangs. What is slow goes on.
        testTimeout: patience(120_000),
        hookTimeout: patience(120_000),
        // The summary of the run names each test that needed it.
        retry: process.env.CI ? 1 : 0,
        expect: { poll: { timeout: patience(20_000) } },
        pool: "forks" as const,
      },
    })),
    globalSetup: [file("test/postgres/run-folder.ts")],
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.{ts,tsx}"],
      reporter: ["text-summary", "json-summary", ...(process.env.CI ? [] : ["html"])],
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
