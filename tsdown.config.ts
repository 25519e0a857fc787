import { defineConfig } from "tsdown";

/** One file per public entry point; the names are the package's subpaths. */
export default defineConfig({
  entry: {
    index: "src/index.ts",
    session: "src/session.ts",
    utils: "src/utils.ts",
    "utils/compaction-helpers": "src/utils/compaction-helpers.ts",
    sqlite: "src/sqlite.ts",
    memory: "src/memory.ts",
    "skills-node": "src/skills-node.ts",
    "cli/main": "src/cli/main.ts",
  },
  format: "esm",
  platform: "neutral",
  target: "es2022",
  dts: true,
  fixedExtension: false,
  clean: true,
});
