// Puts the MCP packages into the one file through which the command reaches them, so that `stemma mcp` needs no other package.
import { build } from "esbuild";

const FILE = "cli/mcp/sdk";

/** Writes the file into the built package. Types are not part of it: nothing but the command uses it. */
export async function bundleMcp() {
  await build({
    entryPoints: [`src/${FILE}.ts`],
    outfile: `dist/${FILE}.js`,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["zod", "zod/*"],
    // The validator within is CommonJS.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    legalComments: "none",
    logLevel: "error",
  });
}
