import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "tsdown";
import { writeDeclarations } from "./scripts/declarations.mjs";
import { entryPoints, PACKAGE } from "./scripts/entry-points.mjs";
import { bundleMcp } from "./scripts/mcp-bundle.mjs";
import { writePackedPages } from "./scripts/packed-pages.mjs";
import { studioDefine } from "./scripts/studio-page.mjs";

const ROOT = fileURLToPath(new URL(".", import.meta.url));

/** Libraries that are part of the package, and where their licences stand. */
const BUNDLED = {
  commander: "node_modules/commander/LICENSE",
  "js-yaml": "node_modules/js-yaml/LICENSE",
  picomatch: "node_modules/picomatch/LICENSE",
  yauzl: "node_modules/yauzl/LICENSE",
  pend: "node_modules/pend/LICENSE",
  fzstd: "node_modules/fzstd/LICENSE",
  diff: "node_modules/diff/LICENSE",
  "jsonc-parser": "node_modules/jsonc-parser/LICENSE.md",
  // Its package has none: this is the one of its repository.
  "@mariozechner/pi-tui": "scripts/licences/pi-tui.txt",
  marked: "node_modules/marked/LICENSE.md",
  "get-east-asian-width": "node_modules/get-east-asian-width/license",
  hono: "node_modules/hono/LICENSE",
  jose: "node_modules/jose/LICENSE.md",
  "@hono/node-server": "node_modules/@hono/node-server/LICENSE",
  // The next two have none of their own: this is that of Hono, whose project they are of.
  "@hono/zod-openapi": "scripts/licences/hono-middleware.txt",
  "@hono/zod-validator": "scripts/licences/hono-middleware.txt",
  "@asteasolutions/zod-to-openapi": "node_modules/@asteasolutions/zod-to-openapi/LICENSE",
  "openapi3-ts": "node_modules/openapi3-ts/LICENSE",
};

/** Libraries that are part of the studio's page alone, which is a text in one of the modules. */
const IN_PAGE = { preact: "node_modules/preact/LICENSE" };

/** Libraries that are part of one file, with which the command serves MCP: see scripts/mcp-bundle.mjs. */
const IN_COMMAND = {
  "@modelcontextprotocol/server": "node_modules/@modelcontextprotocol/server/LICENSE",
  "@modelcontextprotocol/core": "node_modules/@modelcontextprotocol/core/LICENSE",
  zod: "node_modules/zod/LICENSE",
  // Part of the SDK's own file, so it is not installed.
  "content-type": "scripts/licences/content-type.txt",
};

/** The entry points that package.json names, and what they reach. */
const SHARED = {
  entry: Object.fromEntries(entryPoints().map(({ name, source }) => [name, ROOT + source])),
  cwd: PACKAGE,
  format: "esm",
  platform: "node",
  target: "es2022",
  fixedExtension: false,
  define: await studioDefine(),
  // What its package names first loads its parts in a way that no bundler sees.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  deps: {
    // Anything else that lands in the bundle fails the build.
    onlyBundle: Object.keys(BUNDLED),
    neverBundle: [/^@ai-sdk\//],
  },
} satisfies UserConfig;

/** The one file with the MCP packages is made by `bundleMcp`; only chunks reach it. */
const mcpApart = {
  name: "mcp-apart",
  resolveId: (id: string) => (id === "./sdk.js" ? { id: "../cli/mcp/sdk.js", external: true as const } : undefined),
};

/** Libraries that are no ES modules ask for Node's own ones when they need them: whoever loads the chunk with them beside others need not have any. */
const lazyRequire = {
  name: "lazy-require",
  renderChunk: (code: string) => {
    // The bundler's own: what is written in a source has `resolve`, too.
    const lazy = code.replace(
      /^(var __require = .*)\bcreateRequire\(import\.meta\.url\)/m,
      '$1((name) => process.getBuiltinModule("node:module").createRequire(import.meta.url)(name))',
    );
    if (lazy === code) return null;
    return lazy.includes(" createRequire(")
      ? lazy
      : lazy.replace(/import \{ createRequire \} from "node:module";\n/, "");
  },
};

export default defineConfig({
  ...SHARED,
  // A file for each entry point, and chunks for what several use: 300 small files take longer to load than to run.
  dts: false,
  clean: true,
  plugins: [mcpApart, lazyRequire],
  outputOptions: { chunkFileNames: "chunks/[name]-[hash].js" },
  hooks: {
    "build:done": async () => {
      writeDeclarations();
      // What a reader of the installed package finds beside the code.
      copyFileSync("LICENSE", `${PACKAGE}LICENSE`);
      writePackedPages();
      await bundleMcp();
      for (const [name, licence] of Object.entries({ ...BUNDLED, ...IN_PAGE, ...IN_COMMAND })) {
        mkdirSync(`${PACKAGE}dist/vendor/${name}`, { recursive: true });
        copyFileSync(licence, `${PACKAGE}dist/vendor/${name}/LICENSE`);
      }
    },
  },
});
