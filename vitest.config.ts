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
 * What `npm test` runs: tests that start no process of their own but one Postgres server, and need no package but those of the
 * project. They are one project whose files share processes, since each project, and each process, reads the sources anew.
 */
const QUICK = [
  // Units.
  "packages/*/test/quick/**/*.test.ts",
  "test/package/{entry-points,first-mistakes,wings}.test.ts",
  // The runner and the command line, in process.
  "test/runner/{accepted,chat,runner,states,store-session-storage}.test.ts",
  "test/repair/{malformed,rules}.test.ts",
  "test/cli/{check,commands,export,foreign-file,import,main,named-formats,screen}.test.ts",
  // The contract.
  "test/ai-sdk/!(summaries).test.ts",
  "test/store/{ai-sdk,arguments,content,cost,durable-object,misspelt-options,open,search-option,sqlite,unindexed}.test.ts",
  "test/postgres/conformance.test.ts",
  "test/providers/session-provider.test.ts",
  "test/upgrade/!(half-done).test.ts",
  // Adapters, formats and servers, in process.
  "test/adapters/{langchain,openai-agents,openai-agents-changes}.test.ts",
  "test/cli/{backup,copy}.test.ts",
  "test/formats/{archives,find-and-watch,formats,missing-parents,nothing-in-silence,other-programs,pieces}.test.ts",
  "test/langgraph/store.test.ts",
  "test/mcp/{hostile,install,resources,scope,stdio,tools}.test.ts",
  "test/postgres/{documents,spread-search}.test.ts",
  "test/studio/{command,routes}.test.ts",
  "test/store/approval.test.ts",
  "test/redact/programs.test.ts",
  "test/trips/{trips,refused}.test.ts",
];

/** Files of it that put something in place of a module. */
const ALONE = ["test/store/driver.test.ts"];

/** Tests of the same kind of what other frameworks make of the package: they need the packages of compat/. */
const FRAMEWORKS = [
  "test/adapters/{crossing,openai-agents-runs}.test.ts",
  "test/ai-sdk/summaries.test.ts",
  "test/claude/{agent-sdk,continued,memory-files,session-store}.test.ts",
  "test/langgraph/{saver,validation}.test.ts",
  "test/mcp/{http,imported-projects}.test.ts",
  "test/react/*.test.ts",
  "test/redact/claude.test.ts",
  "test/runner/documents-003.test.ts",
  "test/studio/mounted.test.ts",
  "test/telemetry/{agents,instrument}.test.ts",
];

/** Slower tests that need them. */
const PLATFORMS = [
  "test/ai-sdk/random-chats.test.ts",
  "test/claude/{memory-tool,processes,session-store-cost}.test.ts",
  "test/copy/copy-{store,vectors}.test.ts",
  "test/documents/on-postgres.test.ts",
  "test/examples/*.test.ts",
  "test/formats/claude-code-oracle.test.ts",
  "test/langgraph/{cost,processes,two-writers}.test.ts",
  "test/mcp/processes.test.ts",
  "test/package/compiled.test.ts",
  "test/postgres/{pglite,vectors}.test.ts",
  "test/providers/libsql.test.ts",
  "test/runner/redis.test.ts",
  "test/store/encrypted.test.ts",
  "test/studio/{figures,page,pages,xss}.test.ts",
  "test/telemetry/conformance.test.ts",
  "test/trips/pglite.test.ts",
  "test/website/*.test.ts",
  "test/workers/*.test.ts",
];

/** The rest, which `npm run test:all` runs as well. */
const SLOW = {
  docs: ["test/docs/*.test.ts", "test/documents/*.test.ts"],
  processes: [
    "packages/*/test/slow/**/*.test.ts",
    "test/ai-sdk/readers.test.ts",
    "test/**/*processes.test.ts",
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
  exclude: [QUICK, ALONE, FRAMEWORKS, PLATFORMS, ...Object.values(SLOW)].flat(),
};

const projects = [
  {
    name: "quick",
    include: QUICK,
    exclude: [...SLOW.processes, ...ALONE, ...FRAMEWORKS, ...PLATFORMS],
    isolate: false,
  },
  { name: "alone", include: ALONE, exclude: [], isolate: true },
  { name: "frameworks", include: FRAMEWORKS, exclude: [], isolate: false },
  { name: "platforms", include: PLATFORMS, exclude: [], isolate: true },
  ...Object.entries(SLOW).map(([name, include]) => ({ name, include, exclude: PLATFORMS, isolate: true })),
  { name: "engines", ...engines, isolate: true },
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
        exclude: [...exclude, "**/node_modules/**"],
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
